package confine

import (
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/git"
	"middleman/internal/sandbox"
)

// startFiles are those in which variables are looked for that name what shells read at their
// start, see startVariables. They are below the home directory, or begin with a variable.
var startFiles = []string{
	".profile", ".bash_profile", ".bash_login", ".bashrc", ".zshenv", ".zprofile", ".zshrc", ".zlogin",
	"$ZDOTDIR/.zshenv", "$ZDOTDIR/.zprofile", "$ZDOTDIR/.zshrc", "$ZDOTDIR/.zlogin", "$BASH_ENV", "$ENV",
}

// systemStartFiles are those of the system.
var systemStartFiles = []string{"/etc/zshenv", "/etc/zsh/zshenv", "/etc/profile"}

var startVariables = []string{zshDirectory, "BASH_ENV", "ENV"}

// startSigns are what a line has one of that names something: few have.
var startSigns = []string{zshDirectory, "ENV=", "ENV:=", "source ", ". ~", ". /", ". $", `. "`, ". '"}

// zshDirectory names a directory of zshFiles.
const zshDirectory = "ZDOTDIR"

var zshFiles = []string{".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout"}

// namedByShells returns what variables name that start files set in one simple line, such as
// `export ZDOTDIR=~/zsh`, and what they read by `source`, with what those files name. A value
// that a program makes is not known.
func (b *builder) namedByShells() []reading {
	f := follower{b: b, reader: "your shell", files: slices.Clone(systemStartFiles)}
	for _, file := range startFiles {
		f.files = append(f.files, b.settingsPaths(file)...)
	}
	return f.follow(func(text string) {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(strings.TrimSpace(line), "#") || !f.more() {
				continue
			}
			f.startLine(line)
		}
	})
}

// startLine looks at the words of one line. Quotes do not lead on to the next one: an
// apostrophe in a comment would.
func (f *follower) startLine(line string) {
	if !slices.ContainsFunc(startSigns, func(sign string) bool { return strings.Contains(line, sign) }) {
		return
	}
	before := git.Word{Operator: true}
	starts := false
	for _, word := range git.Split(strings.TrimRight(line, "\r\n")) {
		reads := starts && (before.Text == "source" || before.Text == ".")
		starts = before.Operator || before.Text == "{" || before.Text == "then" || before.Text == "do" || before.Text == "else"
		before = word
		if reads && !word.Operator {
			for _, path := range f.b.expandValue(word.Text) {
				f.include("source", path)
			}
		}
		if name, value, assigns := strings.Cut(strings.TrimPrefix(word.Text, "${"), "="); assigns && !word.Operator {
			f.startValue(strings.TrimSuffix(name, ":"), value)
		}
	}
}

// startValue adds what a variable names.
func (f *follower) startValue(name, value string) {
	if !slices.Contains(startVariables, name) {
		return
	}
	for _, path := range f.b.expandValue(strings.TrimSuffix(value, "}")) {
		if name != zshDirectory {
			f.include(name, path)
			continue
		}
		for _, part := range zshFiles {
			f.include(name, filepath.Join(path, part))
		}
		if holds := func(dir string) bool { return sandbox.Within(dir, path) }; !holds(f.b.Home) && !slices.ContainsFunc(f.b.policy.Writable, holds) {
			f.add(reading{path: path, setting: name}) // for links in it
		}
	}
}

// expandValue returns the absolute paths that a value may stand for.
func (b *builder) expandValue(value string) []string {
	value = withoutBraces(value)
	var all []string
	first, rest, _ := strings.Cut(value, "/")
	switch {
	case first == "~" || first == "$HOME":
		all = []string{filepath.Join(b.Home, rest)}
	case strings.HasPrefix(first, "$") && isSettingsHome(first[1:]):
		all = b.settingsPaths(value)
	case filepath.IsAbs(value):
		all = []string{filepath.Clean(value)}
	}
	return slices.DeleteFunc(all, func(path string) bool { return strings.ContainsAny(path, "$`*?") })
}

func isSettingsHome(name string) bool {
	usual, is := settingsHomes[name]
	return is && (usual != "" || name == zshDirectory)
}

// withoutBraces returns a value with "$NAME" for "${NAME}", and with the default where a
// variable has one, as in "${NAME:-DEFAULT}".
func withoutBraces(value string) string {
	for {
		begin := strings.LastIndex(value, "${")
		if begin < 0 {
			return value
		}
		inner, after, closed := strings.Cut(value[begin+2:], "}")
		if !closed {
			return value
		}
		if name, other, has := strings.Cut(inner, "-"); has && !strings.ContainsAny(name, "/$") {
			inner = other
		} else if name, other, has := strings.Cut(inner, "="); has && !strings.ContainsAny(name, "/$") {
			inner = other
		} else {
			inner = "$" + inner
		}
		value = value[:begin] + inner + after
	}
}
