package plaintext

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// breaks spells out line feed and tab. A Replacer builds its tables once, at its first
// use, and they are larger than most texts.
var breaks = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// Line returns s on one line: it spells out line feed and tab too.
func Line(s string) string { return breaks.Replace(Text(s)) }

// Text returns s, of any number of lines, so that a terminal shows it safely.
func Text(s string) string {
	if !strings.ContainsFunc(s, suspicious) {
		return s
	}
	var b strings.Builder
	w := NewWriter(&b)
	_, _ = io.WriteString(w, s) // a strings.Builder takes everything
	_ = w.Flush()
	return b.String()
}

// Writer writes text so that a terminal shows it safely. It holds back bytes
// that it cannot judge yet; Flush writes them.
type Writer struct {
	to    io.Writer
	spell func(out []byte, r rune) []byte
	shows func(r rune) bool
	rest  []byte // an incomplete character, or one that the next one decides about
	last  rune   // the character before rest; 0 where it was spelled out
}

// NewWriter returns a Writer of text to w. It spells an invisible character as
// in a Go string: \x1b, \u202e. It spells a byte that is not UTF-8 the same
// way.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w, spell: spellText, shows: shows} }

// NewContentWriter is NewWriter for what is on a terminal's screen. Programs
// draw there with blanks of Braille, which it leaves as they are, and the marks
// before numbers of Arabic and other scripts.
func NewContentWriter(w io.Writer) *Writer {
	return &Writer{to: w, spell: spellText, shows: showsInContent}
}

// ShowsContent reports whether a content writer leaves s as it is: one character of a
// terminal's screen with what is combined with it.
func ShowsContent(s string) bool {
	if !strings.ContainsFunc(s, func(r rune) bool { return !showsInContent(r) }) {
		return utf8.ValidString(s)
	}
	var b strings.Builder
	w := NewContentWriter(&b)
	_, _ = io.WriteString(w, s) // a strings.Builder takes everything
	_ = w.Flush()
	return b.String() == s
}

// NewJSONWriter returns a Writer of JSON to w. The JSON keeps its meaning.
func NewJSONWriter(w io.Writer) *Writer { return &Writer{to: w, spell: spellJSON, shows: shows} }

// Write writes p, except for the end that it may hold back. n counts bytes of
// p, held back ones too.
func (w *Writer) Write(p []byte) (n int, err error) {
	in := p
	if len(w.rest) > 0 {
		in = append(w.rest, p...)
		w.rest = nil
	}
	out := make([]byte, 0, len(in)+16)
	for len(in) > 0 {
		if !utf8.FullRune(in) {
			break
		}
		r, size := utf8.DecodeRune(in)
		if waits(w.last, r) && !utf8.FullRune(in[size:]) {
			break
		}
		out = w.add(out, in[:size], r, in[size:])
		in = in[size:]
	}
	w.rest = append(w.rest, in...)
	if len(out) == 0 {
		return len(p), nil
	}
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is held back, as if nothing followed.
func (w *Writer) Flush() error {
	in := w.rest
	w.rest = nil
	var out []byte
	for len(in) > 0 {
		r, size := utf8.DecodeRune(in)
		out = w.add(out, in[:size], r, in[size:])
		in = in[size:]
	}
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}

// add appends r, whose encoding is raw, to out. follows are the bytes after r.
func (w *Writer) add(out, raw []byte, r rune, follows []byte) []byte {
	next, _ := utf8.DecodeRune(follows)
	before := w.last
	if r == utf8.RuneError && len(raw) == 1 {
		w.last = 0
		return w.spell(out, -1-rune(raw[0]))
	}
	if w.shows(r) || inEmoji(before, r, next) {
		w.last = r
		return append(out, raw...)
	}
	w.last = 0
	return w.spell(out, r)
}

// spellText spells r out. A negative r stands for the invalid byte -1-r.
func spellText(out []byte, r rune) []byte {
	switch {
	case r < 0:
		return fmt.Appendf(out, `\x%02x`, -1-r)
	case r < 0x80:
		return fmt.Appendf(out, `\x%02x`, r)
	case r < 0x10000:
		return fmt.Appendf(out, `\u%04x`, r)
	}
	return fmt.Appendf(out, `\U%08x`, r)
}

// spellJSON is spellText for JSON, which has only UTF-16 escapes. It replaces
// an invalid byte by U+FFFD.
func spellJSON(out []byte, r rune) []byte {
	switch {
	case r < 0:
		return append(out, `\ufffd`...)
	case r < 0x10000:
		return fmt.Appendf(out, `\u%04x`, r)
	}
	high, low := utf16.EncodeRune(r)
	return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
}
