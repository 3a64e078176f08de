package plaintext

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	joiner    = '\u200d' // zero width joiner, used in emoji
	variation = '\ufe0f' // shows the character before it as an emoji
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

// suspicious reports whether r may have to be spelled out.
func suspicious(r rune) bool { return r == utf8.RuneError || r == joiner || !shows(r) }

// shows reports whether r is visible as itself, whatever stands beside it.
func shows(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return true
	case r < 0x20 || 0x7f <= r && r < 0xa0:
		return false
	case r < 0x300:
		return r != 0xad // soft hyphen
	}
	return !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// emoji reports whether r can stand beside a joiner in an emoji.
func emoji(r rune) bool {
	return r >= 0x2190 && r != utf8.RuneError && unicode.In(r, unicode.So, unicode.Sk) || r == variation
}

// Writer writes text so that a terminal shows it safely. It holds back bytes
// that it cannot judge yet; Flush writes them.
type Writer struct {
	to    io.Writer
	spell func(out []byte, r rune) []byte
	rest  []byte // an incomplete character, or a joiner
	last  rune   // the character before rest
}

// NewWriter returns a Writer of text to w. It spells an invisible character as
// in a Go string: \x1b, \u202e. It spells a byte that is not UTF-8 the same
// way.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w, spell: spellText} }

// NewJSONWriter returns a Writer of JSON to w. The JSON keeps its meaning.
func NewJSONWriter(w io.Writer) *Writer { return &Writer{to: w, spell: spellJSON} }

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
		if r == joiner && !utf8.FullRune(in[size:]) {
			break // the next character decides
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
	w.last = r
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return w.spell(out, -1-rune(raw[0]))
	case r == joiner && emoji(before) && emoji(next), shows(r):
		return append(out, raw...)
	}
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
