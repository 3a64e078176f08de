package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// commandParts are the last parts of settings whose value is a command for sh, besides those
// that end in "cmd" or "command".
var commandParts = []string{
	"clean", "smudge", "process", "textconv", "driver", "helper", "editor", "pager", "fsmonitor", "external",
	"difffilter", "packobjectshook", "uploadpack", "receivepack", "tunnel", "gitproxy",
}

// programParts are the last parts of settings whose value is one program, without arguments.
var programParts = []string{"program", "askpass", "tool", "guitool", "browser", "viewer"}

// words says what the words of one sh script are that settings name.
type words struct {
	key, home string
	dir       string   // where the script is after `cd`, "" if that is not known
	around    []string // dir outside of each "(" that is open
	all       []Named
}

// interpreters are programs that run what their first argument names.
var interpreters = []string{".", "source", "sh", "bash", "dash", "ksh", "zsh", "fish", "python", "python3", "perl", "ruby", "node", "lua"}

const maxScripts = 4 // scripts in arguments of scripts

// isCommand reports whether git gives the value of a setting to sh.
func isCommand(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	last := lastPart(key)
	return section == "submodule" && last == "update" || section == "pager" || section == "alias" || strings.HasSuffix(last, "cmd") || strings.HasSuffix(last, "command") || slices.Contains(commandParts, last)
}

func lastPart(key string) string { return key[strings.LastIndex(key, ".")+1:] }

// NamedByScript returns what a script for sh names that the setting of another program has. dir
// is where it runs, "" if that is not known.
func NamedByScript(setting, script, dir, home string) []Named {
	w := words{key: setting, home: home, dir: dir}
	w.script(script, 0)
	return w.all
}

// NamedByArguments is NamedByScript for a program and its arguments, which no shell reads.
func NamedByArguments(setting string, argv []string, dir, home string) []Named {
	w := words{key: setting, home: home, dir: dir}
	all := make([]Word, len(argv))
	for i, arg := range argv {
		all[i].Text = arg
	}
	w.words(all, 0)
	return w.all
}

// namedByCommand returns what the value of a setting that is a command names.
func namedByCommand(key, value, home string) []Named {
	w := words{key: key, home: home}
	script, isScript := strings.CutPrefix(strings.TrimSpace(value), "!")
	section, _, _ := strings.Cut(key, ".")
	switch {
	case section == "alias" && !isScript: // arguments of git's
		w.fields(value)
	case lastPart(key) == "helper" && section == "credential" && !isScript && !filepath.IsAbs(atHome(script, home)):
		w.script("git-credential-"+script, 0)
	default:
		w.script(script, 0)
	}
	return w.all
}

// script adds what a script names: what it runs, and each word that is a path.
func (w *words) script(text string, depth int) { w.words(Split(text), depth) }

// words is script for the words of one.
func (w *words) words(list []Word, depth int) {
	starts, name, last, before := true, "", "", ""
	for _, word := range list {
		before, last = last, word.Text
		switch {
		case word.Operator:
			if word.Text != "<" && word.Text != ">" {
				starts, name = true, ""
				w.bracket(word.Text)
			}
		case before == "<" || before == ">" || starts && startsLater(word.Text):
			w.argument(word.Text, before == ">")
		case depth < maxScripts && (name == "eval" || isFlag(before) && (before == "-S" || strings.HasSuffix(before, "c"))):
			w.script(word.Text, depth+1)
		case starts:
			starts, name = false, word.Text
			w.program(word.Text)
		case name == "cd" || name == "pushd":
			w.argument(word.Text, false)
			w.change(word.Text)
		default:
			runs := before == name && slices.Contains(interpreters, filepath.Base(name))
			w.argument(word.Text, runs)
		}
	}
}

func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' && word[1] != '-' }

// startsLater reports whether a word at the beginning of a command is not what it runs.
func startsLater(word string) bool {
	name, _, assigns := strings.Cut(word, "=")
	return assigns && !strings.ContainsAny(name, "/ ") || isFlag(word) || // of the one before
		slices.Contains([]string{"{", "}", "!", "if", "then", "elif", "else", "while", "until", "do", "exec", "command", "env", "nohup", "nice", "time"}, word)
}

// bracket keeps where the script is for the end of a part in brackets.
func (w *words) bracket(operator string) {
	switch n := len(w.around); {
	case operator == "(":
		w.around = append(w.around, w.dir)
	case operator == ")" && n > 0:
		w.dir, w.around = w.around[n-1], w.around[:n-1]
	}
}

// change follows `cd`.
func (w *words) change(to string) {
	switch path := atHome(to, w.home); {
	case to == "~" || to == "$HOME" || to == "${HOME}":
		w.dir = w.home
	case filepath.IsAbs(path):
		w.dir = filepath.Clean(path)
	case to == "--" || isFlag(to):
	case w.dir != "" && !strings.ContainsAny(to, "$`*?["):
		w.dir = filepath.Join(w.dir, to)
	default:
		w.dir = ""
	}
}

// program adds what a command runs.
func (w *words) program(word string) {
	switch path := atHome(word, w.home); {
	case filepath.IsAbs(path):
		w.add(path, true)
		w.fields(afterFirst(word))
	case strings.ContainsAny(word, "$`*?["):
		w.fields(word)
	case !strings.Contains(word, "/"):
		w.bare(word)
	case w.dir != "":
		w.add(filepath.Join(w.dir, word), true)
	}
}

// argument adds another word. runs says that it is a script, or what the shell writes.
func (w *words) argument(word string, runs bool) {
	path := atHome(word, w.home)
	if filepath.IsAbs(path) {
		if first := strings.FieldsFunc(path, separates); len(first) > 1 && isThere(path) && !isThere(first[0]) || !strings.ContainsAny(word, " \t\n") {
			w.add(path, runs) // and no script for a shell
			word = afterFirst(word)
		}
		w.fields(word)
		return
	}
	w.fields(word)
	if w.dir == "" || word == "" || strings.ContainsAny(word, "$`*?[") {
		return
	}
	path = filepath.Join(w.dir, word)
	if runs || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") || isThere(path) {
		w.add(path, runs)
	}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// fields adds the paths in a text that is no word of its own.
func (w *words) fields(text string) {
	for _, field := range strings.FieldsFunc(text, separates) {
		if path := atHome(field, w.home); filepath.IsAbs(path) {
			w.add(path, false)
		}
	}
}

func separates(r rune) bool { return strings.ContainsRune(" \t\n\"'`;&|()<>=!,", r) }

// afterFirst is text without its first field.
func afterFirst(text string) string {
	at := strings.IndexFunc(text, separates)
	if at < 0 {
		return ""
	}
	return text[at:]
}

func (w *words) add(path string, runs bool) {
	path = filepath.Clean(path)
	at := slices.IndexFunc(w.all, func(n Named) bool { return n.Path == path })
	if at < 0 {
		w.all = append(w.all, Named{Setting: w.key, Path: path, Word: true, Runs: runs})
		return
	}
	w.all[at].Runs = w.all[at].Runs || runs
}

// bare adds a program that is found in PATH.
func (w *words) bare(name string) {
	if name != "" && !slices.Contains([]string{"cd", "pushd", "."}, name) && !slices.ContainsFunc(w.all, func(n Named) bool { return n.Program == name }) {
		w.all = append(w.all, Named{Setting: w.key, Program: name, Word: true, Runs: true})
	}
}

// Word is a word of a script, without its quotes, or an operator.
type Word struct {
	Text     string
	Operator bool
}

// Split returns the words of a script as sh has them. What sh expands stays as it is.
func Split(script string) (all []Word) {
	var now strings.Builder
	inWord, quote, escaped := false, rune(0), false
	end := func() {
		if inWord {
			all = append(all, Word{Text: now.String()})
		}
		now.Reset()
		inWord = false
	}
	for _, r := range script {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("$`\"\\\n", r) {
				now.WriteByte('\\')
			}
			now.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			now.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t':
			end()
		case strings.ContainsRune("\n;&|()<>`", r):
			end()
			all = append(all, Word{string(r), true})
		default:
			now.WriteRune(r)
			inWord = true
		}
	}
	end()
	return all
}
