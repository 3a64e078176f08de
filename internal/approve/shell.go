package approve

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"middleman/internal/plaintext"
)

// maxCommand bounds the bytes of a shell command that is parsed.
const maxCommand = 16 << 10

// shell decides on a shell command that is run in dir. It allows one simple
// command, whose words mean the same to every shell.
func (p Place) shell(dir, command string) Verdict {
	if len(command) > maxCommand {
		return ask("long-command", "the command has more than %d bytes", maxCommand)
	}
	if i := strings.IndexFunc(command, steers); i >= 0 {
		return ask("shell-syntax", "it has a control character, which shells leave out or read in different ways: %s", plaintext.Line(string([]rune(command[i:])[0])))
	}
	c, err := simple(command, syntax.LangBash)
	if err != nil {
		return ask("shell-syntax", "%v", err)
	}
	other, err := simple(command, syntax.LangZsh)
	if err != nil || !slices.Equal(c.words, other.words) || len(c.redirects) != len(other.redirects) {
		return ask("shell-syntax", "shells differ in what the command means")
	}
	verdict := p.run(dir, c.words)
	for _, r := range c.redirects {
		if r.path != "/dev/null" {
			verdict = worse(verdict, p.file(dir, r.path, r.write))
		}
	}
	return verdict
}

// run decides on a command by its words.
func (p Place) run(dir string, words []string) Verdict {
	if path := p.shadowed(dir, words[0]); path != "" {
		return ask("own-program", "%s is %s, which the session can write", words[0], path)
	}
	if words[0] == "git" {
		return p.git(dir, words[1:])
	}
	c, known := commands()[words[0]]
	if !known {
		return ask("unknown-command", "%s is not a command that is known here", words[0])
	}
	return c(p, dir, words[1:])
}

// shadowed returns the file that a shell in dir would run for a name, if that file is
// in a directory that the session can write, as that of a virtual environment is; else
// "".
func (p Place) shadowed(dir, name string) string {
	for _, at := range filepath.SplitList(p.Path) {
		path := join(join(dir, at), name)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if real, _, err := resolve(path); err != nil || p.place(path, false).Decision == Allow || p.place(real, false).Decision == Allow {
			return path
		}
		if info.Mode()&0o111 != 0 {
			return ""
		}
	}
	return ""
}

// simpleCommand is a command without expansions.
type simpleCommand struct {
	words     []string
	redirects []redirect
}

// redirect is the file that a command reads or writes instead of a stream.
type redirect struct {
	path  string
	write bool
}

// simple parses a shell command that is one simple command.
func simple(command string, lang syntax.LangVariant) (c simpleCommand, err error) {
	if !utf8.ValidString(command) {
		return c, fmt.Errorf("the command is not text")
	}
	defer func() { // a defect of the parser must not allow anything
		if r := recover(); r != nil {
			c, err = simpleCommand{}, fmt.Errorf("the command cannot be parsed: %v", r)
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true)).Parse(strings.NewReader(command), "")
	if err != nil {
		return c, fmt.Errorf("the command cannot be parsed: %v", err)
	}
	if len(file.Stmts) != 1 || len(file.Last) > 0 {
		return c, fmt.Errorf("it is not one simple command")
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || stmt.Negated || stmt.Background || stmt.Coprocess || stmt.Disown || stmt.Semicolon.IsValid() || len(stmt.Comments) > 0 {
		return c, fmt.Errorf("it is not one simple command")
	}
	if len(call.Assigns) > 0 || len(call.Args) == 0 {
		return c, fmt.Errorf("it sets variables")
	}
	for _, w := range call.Args {
		text, ok := literal(w)
		if !ok {
			return c, fmt.Errorf("it has a word that the shell expands, or whose quotes shells read in different ways")
		}
		c.words = append(c.words, text)
	}
	for _, r := range stmt.Redirs {
		if err := c.redirect(r); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (c *simpleCommand) redirect(r *syntax.Redirect) error {
	if r.N != nil && r.N.Value != "0" && r.N.Value != "1" && r.N.Value != "2" {
		return fmt.Errorf("it redirects another descriptor than 0, 1 or 2")
	}
	text := ""
	if r.Word != nil {
		text, _ = literal(r.Word)
	}
	switch {
	case text == "" || r.Hdoc != nil:
		return fmt.Errorf("it has a redirect that the shell expands")
	case r.Op == syntax.DplOut && (text == "1" || text == "2"):
		return nil
	case r.Op == syntax.RdrOut || r.Op == syntax.AppOut:
		c.redirects = append(c.redirects, redirect{text, true})
		return nil
	case r.Op == syntax.RdrIn:
		c.redirects = append(c.redirects, redirect{text, false})
		return nil
	}
	return fmt.Errorf("it has a redirect that is not known here")
}

// literal returns the text of a word that no shell expands; ok is false for any
// other.
func literal(w *syntax.Word) (text string, ok bool) {
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if !bare(part.Value, i == 0) {
				return "", false
			}
			text += part.Value
		case *syntax.SglQuoted:
			// fish knows \' there, and zsh may take '' for a quote.
			if part.Dollar || !printable(part.Value) || strings.ContainsRune(part.Value, '\\') || i > 0 && isSingle(w.Parts[i-1]) {
				return "", false
			}
			text += part.Value
		case *syntax.DblQuoted:
			if part.Dollar {
				return "", false
			}
			for _, inner := range part.Parts {
				lit, is := inner.(*syntax.Lit)
				if !is || !printable(lit.Value) || strings.ContainsAny(lit.Value, "$`\\!\"") {
					return "", false
				}
				text += lit.Value
			}
		default:
			return "", false
		}
	}
	return text, true
}

func isSingle(part syntax.WordPart) bool {
	_, is := part.(*syntax.SglQuoted)
	return is
}

// bare reports whether unquoted text means itself in every shell. first says
// that it begins its word, where = and % may have a meaning.
func bare(text string, first bool) bool {
	if first && (strings.HasPrefix(text, "=") || strings.HasPrefix(text, "%")) {
		return false
	}
	for _, r := range text {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_./:,@%+=-", r) {
			return false
		}
	}
	return true
}

// steers reports whether r is a control character other than tab and line feed.
func steers(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// printable reports whether quoted text has no character that steers a terminal.
func printable(text string) bool {
	for _, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
