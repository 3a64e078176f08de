package confine

import (
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"middleman/internal/plainfile"
	"middleman/internal/sandbox"
)

const maxStartFile = 1 << 20 // bytes of a file in which variables are looked for

// startVariables name what shells read at their start, and where they are set: in files of
// readOutside, and of the system. What ZDOTDIR names is a directory of zshFiles.
var startVariables = []struct {
	name string
	in   []string
}{
	{"ZDOTDIR", []string{".zshenv", "$ZDOTDIR/.zshenv", "/etc/zshenv", "/etc/zsh/zshenv", ".profile", ".bash_profile"}},
	{"BASH_ENV", []string{".profile", ".bash_profile", ".bash_login", ".bashrc", ".zshenv", ".zprofile", "/etc/profile"}},
	{"ENV", []string{".profile", ".bash_profile", ".bash_login", ".bashrc", ".zshenv", ".zprofile", "/etc/profile"}},
}

var zshFiles = []string{".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout"}

// startFiles returns what variables name that start files set in one simple line, such as
// `export ZDOTDIR=~/zsh`. A value that a program makes is not known.
func (b *builder) startFiles() (paths []string) {
	for _, variable := range startVariables {
		for _, in := range variable.in {
			files := []string{in}
			if !filepath.IsAbs(in) {
				files = b.settingsPaths(in)
			}
			for _, file := range files {
				paths = append(paths, b.startFilesIn(file, variable.name)...)
			}
		}
	}
	return paths
}

// startFilesIn is startFiles for one variable in one file.
func (b *builder) startFilesIn(file, name string) (paths []string) {
	for _, value := range assigned(file, name) {
		for _, path := range b.expandValue(value) {
			if name != "ZDOTDIR" {
				paths = append(paths, path)
				continue
			}
			for _, part := range zshFiles {
				paths = append(paths, filepath.Join(path, part))
			}
			if holds := func(dir string) bool { return sandbox.Within(dir, path) }; !holds(b.Home) && !slices.ContainsFunc(b.policy.Writable, holds) {
				paths = append(paths, path) // for links in it
			}
		}
	}
	return paths
}

// assigned returns the values that a file of a shell gives a variable, without quotes.
func assigned(file, name string) (values []string) {
	f, err := plainfile.OpenFollowed(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	raw, _ := io.ReadAll(io.LimitReader(f, maxStartFile))
	pattern := regexp.MustCompile(`(?:^|[\s;&|{(])` + name + `=((?:"[^"]*"|'[^']*'|[^\s;&|)"'])*)`)
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, found := range pattern.FindAllStringSubmatch(line, -1) {
			values = append(values, strings.NewReplacer(`"`, "", "'", "").Replace(found[1]))
		}
	}
	return values
}

var (
	bracedName  = regexp.MustCompile(`\$\{(\w+)\}`)
	withDefault = regexp.MustCompile(`\$\{\w+:?[-=]([^{}]*)\}`)
)

// expandValue returns the absolute paths that a value may stand for.
func (b *builder) expandValue(value string) []string {
	value = withDefault.ReplaceAllString(bracedName.ReplaceAllString(value, "$$$1"), "$1")
	var all []string
	first, rest, _ := strings.Cut(value, "/")
	switch {
	case first == "~" || first == "$HOME":
		all = []string{filepath.Join(b.Home, rest)}
	case strings.HasPrefix(first, "$") && settingsHomes[first[1:]] != "":
		all = b.settingsPaths(value)
	case filepath.IsAbs(value):
		all = []string{filepath.Clean(value)}
	}
	return slices.DeleteFunc(all, func(path string) bool { return strings.ContainsAny(path, "$`*?") })
}
