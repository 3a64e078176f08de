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

const maxScripts = 4 // scripts in arguments of scripts

// isCommand reports whether git gives the value of a setting to sh.
func isCommand(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	last := lastPart(key)
	return section == "submodule" && last == "update" || section == "pager" || section == "alias" || strings.HasSuffix(last, "cmd") || strings.HasSuffix(last, "command") || slices.Contains(commandParts, last)
}

func lastPart(key string) string { return key[strings.LastIndex(key, ".")+1:] }

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
func (w *words) script(text string, depth int) {
	starts, name, last, before := true, "", "", ""
	for _, word := range split(text) {
		before, last = last, word.text
		switch {
		case word.operator:
			if word.text != "<" && word.text != ">" {
				starts, name = true, ""
				w.bracket(word.text)
			}
		case before == "<" || before == ">" || starts && startsLater(word.text):
			w.argument(word.text, false)
		case depth < maxScripts && (name == "eval" || isFlag(before) && (before == "-S" || strings.HasSuffix(before, "c"))):
			w.script(word.text, depth+1)
		case starts:
			starts, name = false, word.text
			w.program(word.text)
		case name == "cd" || name == "pushd":
			w.argument(word.text, false)
			w.change(word.text)
		default:
			runs := before == name && slices.Contains([]string{".", "source", "sh", "bash", "dash", "ksh", "zsh"}, name)
			w.argument(word.text, runs)
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
		w.add(path)
		w.fields(afterFirst(word))
	case strings.ContainsAny(word, "$`*?["):
		w.fields(word)
	case !strings.Contains(word, "/"):
		w.bare(word)
	case w.dir != "":
		w.add(filepath.Join(w.dir, word))
	}
}

// argument adds another word. runs says that it is a script.
func (w *words) argument(word string, runs bool) {
	path := atHome(word, w.home)
	if filepath.IsAbs(path) {
		if first := strings.FieldsFunc(path, separates); len(first) > 1 && isThere(path) && !isThere(first[0]) || !strings.ContainsAny(word, " \t\n") {
			w.add(path) // and no script for a shell
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
		w.add(path)
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
			w.add(path)
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

func (w *words) add(path string) {
	path = filepath.Clean(path)
	if !slices.ContainsFunc(w.all, func(n Named) bool { return n.Path == path }) {
		w.all = append(w.all, Named{Setting: w.key, Path: path, Word: true})
	}
}

// bare adds a program that is found in PATH.
func (w *words) bare(name string) {
	if name != "" && !slices.Contains([]string{"cd", "pushd", "."}, name) && !slices.ContainsFunc(w.all, func(n Named) bool { return n.Program == name }) {
		w.all = append(w.all, Named{Setting: w.key, Program: name, Word: true})
	}
}

// word is a word of a script, without its quotes, or an operator.
type word struct {
	text     string
	operator bool
}

// split returns the words of a script as sh has them. What sh expands stays as it is.
func split(script string) (all []word) {
	var now strings.Builder
	inWord, quote, escaped := false, rune(0), false
	end := func() {
		if inWord {
			all = append(all, word{text: now.String()})
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
			all = append(all, word{string(r), true})
		default:
			now.WriteRune(r)
			inWord = true
		}
	}
	end()
	return all
}
