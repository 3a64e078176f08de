package confine

import (
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/git"
)

// tmuxFiles are where tmux reads its settings, besides the private server's own.
var tmuxFiles = []string{".tmux.conf", "$XDG_CONFIG_HOME/tmux/tmux.conf"}

// tmuxScripts are the commands and options of tmux whose values a shell gets.
var tmuxScripts = []string{
	"run-shell", "run", "if-shell", "if", "pipe-pane", "pipep", "new-window", "neww", "new-session", "new", "split-window", "splitw",
	"respawn-pane", "respawnp", "respawn-window", "respawnw", "display-popup", "popup",
	"default-command", "default-shell", "copy-command", "lock-command", "editor",
}

const (
	maxNested    = 4        // commands of tmux in words of commands
	maxVariables = 256      // that settings of tmux set
	maxWord      = 64 << 10 // bytes of a word whose variables are put in
)

// tmuxReader looks for names in settings of tmux.
type tmuxReader struct {
	follower
	variables map[string]string // that the files set, and options that begin with "@"
}

// namedByTmux returns what the settings of tmux name, the private server's and the user's.
func (b *builder) namedByTmux() []reading {
	t := tmuxReader{follower{b: b, reader: "tmux", files: []string{filepath.Join(b.Dirs.Config, "tmux.conf"), "/etc/tmux.conf"}}, map[string]string{"HOME": b.Home}}
	for _, file := range tmuxFiles {
		t.files = append(t.files, b.settingsPaths(file)...)
	}
	return t.follow(func(text string) { t.text(text, 0) })
}

// text looks through commands.
func (t *tmuxReader) text(text string, depth int) {
	for _, words := range tmuxCommands(text) {
		t.command(words, depth)
	}
}

// command looks through one command and those in its words, as `bind-key` and `if-shell`
// have them: each word that is the name of one counts.
func (t *tmuxReader) command(words []string, depth int) {
	name := ""
	for i, word := range words {
		if !t.more() {
			return
		}
		word = t.expand(word)
		if t.sets(words, i, word) {
			continue
		}
		switch {
		case isTmux(word):
			name = word
		case strings.HasPrefix(word, "-") || strings.HasPrefix(word, "%"):
		case isSource(name):
			t.source(word)
		case name != "":
			t.script(name, word)
		default:
			t.word(words[0], word)
		}
		for _, script := range inFormats(word) {
			t.script(words[0], script)
		}
		if depth < maxNested && strings.ContainsAny(word, " \t\n;") {
			t.text(word, depth+1)
		}
	}
}

// sets keeps the value of a variable, or of an option that begins with "@". It reports whether
// the word is all of that.
func (t *tmuxReader) sets(words []string, i int, word string) bool {
	name, value, assigns := strings.Cut(word, "=")
	whole := assigns && i == 0 && name != ""
	if isOf := i > 0 && (strings.HasPrefix(words[i-1], "@") || strings.HasPrefix(words[0], "setenv") || strings.HasPrefix(words[0], "set-e")); isOf {
		name, value = words[i-1], word
	} else if !whole {
		return false
	}
	if len(t.variables) < maxVariables {
		t.variables[name] = t.expand(value)
	}
	return whole
}

// isSource reports whether a command is source-file, in full or cut as tmux takes it.
func isSource(name string) bool { return len(name) > 1 && strings.HasPrefix("source-file", name) }

// isTmux reports whether a word is a command or option that names what is read or run.
func isTmux(word string) bool {
	short := func(full string) bool { return len(word) > 3 && strings.HasPrefix(full, word) }
	return isSource(word) || slices.Contains(tmuxScripts, word) || slices.ContainsFunc(tmuxScripts, short) || strings.HasPrefix(word, "copy-pipe")
}

// source adds a file of settings. A relative one is in the directory where tmux was started,
// which is the home directory for those who begin there.
func (t *tmuxReader) source(path string) {
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(t.b.Home, path)
	}
	t.include("source-file", path)
}

// word adds a path that is there and that another command has.
func (t *tmuxReader) word(setting, word string) {
	if filepath.IsAbs(word) {
		t.add(t.b.readings("", "", thatMatter([]git.Named{{Setting: setting, Path: filepath.Clean(word), Word: true}}))...)
	}
}

// expand puts in what a word stands for: the home directory, variables that the files have
// set, and the formats that name the present file.
func (t *tmuxReader) expand(word string) string {
	if below, is := strings.CutPrefix(word, "~/"); is {
		word = filepath.Join(t.b.Home, below)
	}
	if !strings.ContainsAny(word, "$#") {
		return word
	}
	word = strings.NewReplacer("#{d:current_file}", filepath.Dir(t.file), "#{current_file}", t.file).Replace(word)
	for name, value := range t.variables {
		forms := []string{"${" + name + "}", "$" + name + "/"}
		if strings.HasPrefix(name, "@") {
			forms = []string{"#{" + name + "}", "#{E:" + name + "}"}
		} else if word == "$"+name {
			word = value
		}
		for _, form := range forms {
			end := form[len(strings.TrimSuffix(form, "/")):]
			if word = strings.ReplaceAll(word, form, value+end); len(word) > maxWord {
				return ""
			}
		}
	}
	return word
}

// inFormats returns the shell commands in `#(...)`.
func inFormats(word string) (scripts []string) {
	for {
		_, rest, has := strings.Cut(word, "#(")
		if !has {
			return scripts
		}
		depth, end := 1, len(rest)
		for i := 0; i < len(rest); i++ {
			switch rest[i] {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 {
				end = i
				break
			}
		}
		scripts, word = append(scripts, rest[:end]), rest[end:]
	}
}

// tmuxCommands returns the commands in settings of tmux as words without quotes. Those in
// blocks and after a condition are commands like others. Variables stay as they are.
func tmuxCommands(text string) (all [][]string) {
	s := tmuxScanner{rest: strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", "")}
	for s.rest != "" {
		switch c := s.rest[0]; {
		case c == ' ' || c == '\t':
			s.rest = s.rest[1:]
		case c == '\n' || c == ';' || c == '{' || c == '}':
			s.rest = s.rest[1:]
			s.end()
		case c == '#' && !strings.HasPrefix(s.rest, "#{") && !strings.HasPrefix(s.rest, "#("):
			s.rest = s.rest[len(strings.SplitN(s.rest, "\n", 2)[0]):]
		default:
			s.word()
		}
	}
	s.end()
	return s.all
}

// tmuxScanner reads what is left of settings of tmux.
type tmuxScanner struct {
	rest  string
	words []string
	all   [][]string
}

func (s *tmuxScanner) end() {
	if len(s.words) > 0 {
		s.all = append(s.all, s.words)
	}
	s.words = nil
}

// word reads a word, of which there is at least one byte. A `\;` at its end, which parts the
// commands of a key, ends the command.
func (s *tmuxScanner) word() {
	var b strings.Builder
	quote, braces, ends := byte(0), 0, false
	for i := 0; ; i++ {
		if i >= len(s.rest) {
			s.rest = ""
			break
		}
		c := s.rest[i]
		if quote == 0 && (strings.IndexByte(" \t\n;", c) >= 0 || c == '}' && braces == 0) {
			s.rest = s.rest[i:]
			break
		}
		switch {
		case quote != 0 && c == quote:
			quote = 0
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
			continue
		case c == '\\' && quote != '\'' && i+1 < len(s.rest):
			i++
			if c = s.rest[i]; c == ';' {
				ends = true
				continue
			}
		case quote == 0 && c == '{':
			braces++
		case quote == 0 && c == '}':
			braces--
		}
		b.WriteByte(c)
	}
	if b.Len() > 0 || !ends {
		s.words = append(s.words, b.String())
	}
	if ends {
		s.end()
	}
}
