package sessions

import (
	"fmt"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/plaintext"
	"middleman/terminal"
)

// shownWanted is how many characters of a text a question shows.
const shownWanted = 60

const yourClipboard = "this terminal's clipboard, if the session allows it"

// ClipboardFlag adds --clipboard. Its help says whose clipboard the program may
// set, and the default.
func ClipboardFlag(flags *pflag.FlagSet, policy *terminal.Clipboard, whose, otherwise string) {
	flags.StringVar((*string)(policy), "clipboard", "",
		"whether the program may set "+whose+": `RULE` is allow, ask or deny; it can never read it (default: "+otherwise+")")
}

// CheckClipboard returns an error for a value that --clipboard does not accept.
func CheckClipboard(policy terminal.Clipboard) error {
	if policy == "" || policy.Known() {
		return nil
	}
	return cli.Usagef("--clipboard is %q: it must be allow, ask or deny", policy)
}

// offer asks, after the session is left, whether to put the program's text into
// the clipboard.
func (c commands) offer(w viewer.Wanted, mayAsk bool) {
	if w.TooLong {
		fmt.Fprintf(c.Errs, "middleman: %s wanted to put more than 64 KiB into your clipboard, which is too much: your clipboard is unchanged\n", w.Label)
		return
	}
	wanted := fmt.Sprintf("%s wanted to put %s into your clipboard: %s", w.Label, characters(w.Text), shorten(w.Text, shownWanted))
	if !mayAsk || !viewer.IsTerminal(c.In) {
		fmt.Fprintf(c.Errs, "middleman: %s: you could not be asked, so your clipboard is unchanged\n", wanted)
		return
	}
	err := viewer.DiscardInput(c.In) // it was meant for the program, or made by it
	if err == nil && c.Confirm(wanted+". Do it? [y/N] ") {
		_, err = c.BytesOut.WriteString(w.Command())
	}
	if err != nil {
		fmt.Fprintf(c.Errs, "middleman: set the clipboard: %v\n", err)
	}
}

func characters(s string) string {
	if n := utf8.RuneCountInString(s); n != 1 {
		return fmt.Sprintf("%d characters", n)
	}
	return "1 character"
}

// shorten returns the beginning of s, of most characters, in quotes and on one line.
func shorten(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return plaintext.Line(`"` + s + `"`)
	}
	return plaintext.Line(`"`+string(runes[:most])) + `…"`
}
