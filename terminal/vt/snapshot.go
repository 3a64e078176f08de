package vt

import (
	"fmt"
	"unicode/utf8"
)

// SnapshotOptions say what AppendSnapshot draws.
type SnapshotOptions struct {
	// Scrollback is the number of lines drawn before the main screen. 0 draws
	// none, a negative number all.
	Scrollback int
}

// AppendSnapshot appends bytes to dst that bring a terminal of the same size,
// just reset, into the state of t: both screens, scrollback as asked for,
// cursor, every mode, titles, colours, and the beginning of a sequence or rune
// that t has seen only in part. The bytes begin with ST. They hold no query,
// ring no bell, and copy or announce nothing.
//
// They are ordinary sequences, and a DCS = z (see restoreFromSnapshot), which
// terminals other than this one skip, for what these cannot express.
func (t *Terminal) AppendSnapshot(dst []byte, o SnapshotOptions) []byte {
	w := &snapshotWriter{t: t, out: dst, charsets: asciiCharsets}
	w.print("\x1b\\")
	w.drawMain(o.Scrollback)
	w.print("\x1b[H")
	if t.modes.has(modeMargins) {
		w.print("\x1b[?69h")
	}
	w.titles()
	w.colors()
	w.screenState(t.main)
	w.alternate()
	w.modes()
	w.cursor()
	w.unfinished()
	return w.out
}

// snapshotWriter knows the state of the terminal that its bytes are for.
type snapshotWriter struct {
	t        *Terminal
	out      []byte
	style    cell // attr and ext of the pen
	charsets [4]byte
	gl       int
	grapheme graphemeState

	column int    // of the line being drawn, up to which is drawn
	skip   int    // columns from there that stay as they are
	last   []byte // the line before, if one was drawn
}

// print appends control functions.
func (w *snapshotWriter) print(s string) {
	w.out = append(w.out, s...)
	w.grapheme = graphemeState{}
}

func (w *snapshotWriter) printf(format string, args ...any) {
	w.out = fmt.Appendf(w.out, format, args...)
	w.grapheme = graphemeState{}
}

// privateDCS appends a DCS for restoreFromSnapshot.
func (w *snapshotWriter) privateDCS(format string, args ...any) {
	w.print("\x1bP=z")
	w.printf(format, args...)
	w.print("\x1b\\")
}

func (w *snapshotWriter) setStyle(style cell) {
	style.ch = 0
	if style == w.style {
		return
	}
	before, after := w.t.extras.value(w.style.ext), w.t.extras.value(style.ext)
	w.style = style
	w.print("\x1b[")
	w.out = appendSGR(w.out, style.attr, after.underline)
	w.print("m")
	if style.attr&protected != 0 {
		w.print("\x1b[1\"q")
	}
	if before.id != after.id || before.uri != after.uri {
		w.out = appendLink(w.out, after)
	}
}

func (w *snapshotWriter) setPen(p pen) { w.setStyle(cell{attr: p.attr, ext: p.ext}) }

func (w *snapshotWriter) setCharsets(charsets [4]byte, gl int) {
	for g, set := range charsets {
		if set != w.charsets[g] {
			w.printf("\x1b%c%c", "()*+"[g], set)
		}
	}
	if gl != w.gl {
		w.print([...]string{"\x0f", "\x0e", "\x1bn", "\x1bo"}[gl])
	}
	w.charsets, w.gl = charsets, gl
}

// drawMain draws the newest lines of the scrollback and the main screen.
func (w *snapshotWriter) drawMain(scrollback int) {
	s := &w.t.scrollback
	if scrollback < 0 || scrollback > s.lines {
		scrollback = s.lines
	}
	s.each(scrollback, w.line)
	w.rows(w.t.main)
}

func (w *snapshotWriter) rows(s *screen) {
	for _, r := range s.rows {
		w.t.lineBuf = w.t.encodeLine(w.t.lineBuf[:0], r)
		w.line(w.t.lineBuf)
	}
	w.last = nil
}

// line draws one line below the last.
func (w *snapshotWriter) line(line []byte) {
	switch {
	case w.last == nil:
		if isWrapped(line) {
			w.privateDCS("w")
		}
	case !isWrapped(line):
		w.newline()
	case !w.wrapsByItself(line):
		w.wrap()
	}
	w.column, w.skip = 0, 0
	for l := readLine(line); l.next(); {
		w.run(&l)
	}
	w.last = append(w.last[:0], line...)
}

func (w *snapshotWriter) newline() {
	w.setStyle(cell{attr: w.style.attr &^ bgMask, ext: w.style.ext}) // new lines take the background
	w.print("\r\n")
}

// wrapsByItself reports whether writing the first character of line wraps the
// cursor to the next line and changes nothing else.
func (w *snapshotWriter) wrapsByItself(line []byte) bool {
	l := readLine(line)
	return w.column == w.t.cols && w.skip == 0 && l.next() && l.op != opBlank &&
		l.style.attr&bgMask == 0 && w.t.cols > 2
}

// wrap goes to the next line so that it counts as wrapped, although the last
// column of the line above, or the first of the next line, is blank. It writes
// other characters to wrap, and then draws what they replaced.
func (w *snapshotWriter) wrap() {
	if w.t.rows == 1 {
		w.newline()
		w.privateDCS("w")
		return
	}
	w.setStyle(cell{})
	w.printf("\x1b[%dGx \x1b[A", w.t.cols)
	w.redrawEnd(w.last)
	w.setStyle(cell{})
	w.print("\r\x1b[B\x1b[X")
}

// redrawEnd draws the last column of the cursor's line again, or both columns
// of a wide character there.
func (w *snapshotWriter) redrawEnd(line []byte) {
	column := 0
	for l := readLine(line); l.next(); column += l.n * l.width() {
		if column+l.n*l.width() < w.t.cols {
			continue
		}
		l.n = 1
		if !l.cluster() && l.op != opBlank {
			_, size := utf8.DecodeLastRune(l.text)
			l.text = l.text[len(l.text)-size:]
		}
		w.column, w.skip = w.t.cols-l.width(), 0
		w.printf("\x1b[%dG", w.column+1)
		w.run(&l)
		return
	}
	w.printf("\x1b[%dG\x1b[X", w.t.cols)
}

// run draws cells of one kind.
func (w *snapshotWriter) run(l *lineReader) {
	if l.op == opBlank {
		w.blanks(l.style, l.n)
		return
	}
	w.moveRight()
	w.setStyle(l.style)
	switch {
	case l.cluster():
		w.cluster(l.text)
	case l.op == opASCII:
		w.breakGrapheme(rune(l.text[0]))
		w.out = append(w.out, l.text...)
		w.grapheme = afterNarrow
	default:
		for text := l.text; len(text) > 0; {
			_, n := utf8.DecodeRune(text)
			w.cluster(text[:n])
			text = text[n:]
		}
	}
	w.column += l.n * l.width()
}

// cluster draws one character.
func (w *snapshotWriter) cluster(text []byte) {
	w.breakGrapheme(firstRune(text))
	w.out = append(w.out, text...)
	for _, r := range string(text) {
		w.grapheme, _ = w.grapheme.after(r)
	}
}

// breakGrapheme keeps r from continuing the grapheme cluster that was drawn
// before it.
func (w *snapshotWriter) breakGrapheme(r rune) {
	if _, joined := w.grapheme.after(r); joined {
		w.print("\x00") // any control function ends a cluster; this one does nothing else
	}
}

// moveRight goes over the columns that stay as they are.
func (w *snapshotWriter) moveRight() {
	if w.skip > 0 {
		w.printf("\x1b[%dC", w.skip)
		w.column += w.skip
		w.skip = 0
	}
}

// blanks draws n blanks.
func (w *snapshotWriter) blanks(style cell, n int) {
	if style == (cell{}) {
		w.skip += n
		return
	}
	w.moveRight()
	w.setStyle(style)
	if style.attr == style.attr.erased() && style.ext == 0 {
		w.printf("\x1b[%dX", n)
		w.skip += n
		return
	}
	w.breakGrapheme(' ')
	w.out = fmt.Appendf(w.out, "%*s", n, "")
	w.privateDCS("b%d", n)
	w.column += n
}

// firstRune is the first rune of text that is not empty.
func firstRune(text []byte) rune {
	r, _ := utf8.DecodeRune(text)
	return r
}
