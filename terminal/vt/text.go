package vt

import (
	"bytes"
	"unicode/utf8"
)

// TextOptions say what Text and ANSI return.
type TextOptions struct {
	// Scrollback puts the lines before the main screen first.
	Scrollback bool
	// KeepBlanks keeps the blanks at the end of lines, so that each line is as
	// wide as the screen, and blank lines at the end.
	KeepBlanks bool
	// JoinWraps makes one line of those that were wrapped.
	JoinWraps bool
}

// Text returns what the screen shows, a newline after each line.
func (t *Terminal) Text(o TextOptions) string { return string(t.render(o, false)) }

// ANSI returns what Text returns, with the SGR and OSC 8 sequences that style
// it. Each line begins in the default style and ends in it.
func (t *Terminal) ANSI(o TextOptions) string { return string(t.render(o, true)) }

func (t *Terminal) render(o TextOptions, styled bool) []byte {
	w := textWriter{t: t, o: o, styled: styled}
	if o.Scrollback && !t.onAlt() {
		t.scrollback.each(t.scrollback.lines, w.line)
	}
	for _, r := range t.scr.rows {
		t.lineBuf = t.encodeLine(t.lineBuf[:0], r)
		w.line(t.lineBuf)
	}
	w.endLine()
	if !o.KeepBlanks {
		w.out = w.out[:w.end]
	}
	return w.out
}

type textWriter struct {
	t      *Terminal
	o      TextOptions
	styled bool
	out    []byte
	style  cell
	column int // of the line being written
	blanks int // columns not written yet, as they may be at the end
	begun  bool
	end    int // length of out up to the last line that is not empty
}

func (w *textWriter) line(line []byte) {
	if w.begun && w.o.JoinWraps && isWrapped(line) {
		w.flushBlanks(cell{}, w.t.cols-w.column-w.blanks)
	} else {
		w.endLine()
	}
	w.begun = true
	w.column, w.blanks = 0, 0
	for l := readLine(line); l.next(); {
		if l.op == opBlank {
			w.blank(l.style, l.n)
			continue
		}
		w.flushBlanks(cell{}, 0)
		w.setStyle(l.style)
		w.out = append(w.out, l.text...)
		w.column += l.n * l.width()
	}
}

// blank notes blanks. Where they show a style they are written at once.
func (w *textWriter) blank(style cell, n int) {
	if !w.styled || style.attr&(bgMask|inverse|underlineMask|strike|overline) == 0 {
		w.blanks += n
		return
	}
	w.flushBlanks(cell{}, 0)
	w.setStyle(style)
	w.spaces(n)
}

func (w *textWriter) spaces(n int) {
	w.out = append(w.out, bytes.Repeat([]byte{' '}, n)...)
	w.column += n
}

// flushBlanks writes the blanks that are no longer at the end, and more.
func (w *textWriter) flushBlanks(style cell, more int) {
	n := w.blanks + max(more, 0)
	w.blanks = 0
	if n > 0 {
		w.setStyle(style)
		w.spaces(n)
	}
}

func (w *textWriter) setStyle(style cell) {
	style.ch = 0
	if !w.styled || style == w.style {
		return
	}
	before, after := w.t.extras.value(w.style.ext), w.t.extras.value(style.ext)
	w.out = append(w.out, "\x1b["...)
	w.out = appendSGR(w.out, style.attr, after.underline)
	w.out = append(w.out, 'm')
	if before.id != after.id || before.uri != after.uri {
		w.out = appendLink(w.out, after)
	}
	w.style = style
}

func (w *textWriter) endLine() {
	if !w.begun {
		return
	}
	if w.o.KeepBlanks {
		w.flushBlanks(cell{}, w.t.cols-w.column-w.blanks)
	}
	w.setStyle(cell{})
	trimmed := w.out
	if !w.o.KeepBlanks && !w.styled {
		trimmed = bytes.TrimRight(w.out, " ")
	}
	w.out = append(trimmed, '\n')
	if len(w.out) > w.end+1 && !bytes.HasSuffix(w.out, []byte("\n\n")) || w.end == 0 && len(w.out) > 1 {
		w.end = len(w.out)
	}
}

// appendLink appends the OSC 8 that begins e's hyperlink or ends the one
// before.
func appendLink(dst []byte, e extra) []byte {
	dst = append(dst, "\x1b]8;"...)
	if e.id != "" {
		dst = append(dst, "id="...)
		dst = append(dst, e.id...)
	}
	dst = append(dst, ';')
	dst = append(dst, e.uri...)
	return append(dst, "\x1b\\"...)
}

// firstRune is the first rune of text that is not empty.
func firstRune(text []byte) rune {
	r, _ := utf8.DecodeRune(text)
	return r
}
