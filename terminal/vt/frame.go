package vt

import "fmt"

// Frame is a screen as data, ready for JSON.
type Frame struct {
	Cols      int      `json:"cols"`
	Rows      int      `json:"rows"`
	Cursor    Cursor   `json:"cursor"`
	Title     string   `json:"title"`
	Directory string   `json:"directory,omitempty"`
	Alternate bool     `json:"alternate"`
	Modes     []string `json:"modes"` // names of the modes that are on
	Lines     []Line   `json:"lines"` // one for each row, unless rows were left out
}

// Cursor is where the cursor is, counted from 0, and how it looks.
type Cursor struct {
	Col     int    `json:"col"`
	Row     int    `json:"row"`
	Visible bool   `json:"visible"`
	Shape   string `json:"shape"` // block, underline or bar
	Blink   bool   `json:"blink"`
}

// Line is one row. What is right of the last run is blank in the default
// style.
type Line struct {
	Wrapped bool  `json:"wrapped,omitempty"` // continues the line above
	Runs    []Run `json:"runs"`
}

// Run is text of one style.
type Run struct {
	Text  string `json:"text"`
	Cols  int    `json:"cols"` // columns that it takes
	Style *Style `json:"style,omitempty"`
}

// Style is what SGR and OSC 8 set. A colour is "" for the default, an index in
// decimal, or #rrggbb.
type Style struct {
	Foreground     string `json:"fg,omitempty"`
	Background     string `json:"bg,omitempty"`
	UnderlineColor string `json:"underline_color,omitempty"`
	Underline      string `json:"underline,omitempty"` // single, double, curly, dotted or dashed
	Bold           bool   `json:"bold,omitempty"`
	Faint          bool   `json:"faint,omitempty"`
	Italic         bool   `json:"italic,omitempty"`
	Blink          bool   `json:"blink,omitempty"`
	Inverse        bool   `json:"inverse,omitempty"`
	Conceal        bool   `json:"conceal,omitempty"`
	Strike         bool   `json:"strike,omitempty"`
	Overline       bool   `json:"overline,omitempty"`
	Link           string `json:"link,omitempty"`
}

// Cells returns the screen as data.
func (t *Terminal) Cells() Frame {
	f := Frame{
		Cols: t.cols, Rows: t.rows,
		Cursor: t.Cursor(),
		Title:  t.title, Directory: t.directory,
		Alternate: t.Alternate(),
		Modes:     t.modeNames(),
		Lines:     make([]Line, t.rows),
	}
	for y, r := range t.scr.rows {
		t.lineBuf = t.encodeLine(t.lineBuf[:0], r)
		f.Lines[y] = t.frameLine(t.lineBuf)
	}
	return f
}

// Cursor returns where the cursor is and how it looks. Where a character was
// written to the last column the cursor stays on it.
func (t *Terminal) Cursor() Cursor {
	return Cursor{
		Col: min(t.x, t.cols-1), Row: t.y,
		Visible: t.modes.has(modeCursorVisible),
		Shape:   shapeNames[(max(t.cursorShape, 1)-1)/2],
		Blink:   t.cursorShape%2 == 1 || t.cursorShape == 0 && t.modes.has(modeCursorBlink),
	}
}

// Alternate reports whether the alternate screen is shown.
func (t *Terminal) Alternate() bool { return t.onAlt() }

var shapeNames = [...]string{"block", "underline", "bar"}

func (t *Terminal) modeNames() []string {
	names := []string{}
	for _, list := range [][]modeInfo{ansiModes, privateModes} {
		for _, m := range list {
			if t.modes.has(m.bit) {
				names = append(names, m.name)
			}
		}
	}
	if t.mouse != mouseOff {
		names = append(names, fmt.Sprintf("mouse-%d", t.mouse))
	}
	if t.encoding != encodingDefault {
		names = append(names, fmt.Sprintf("mouse-encoding-%d", t.encoding))
	}
	return names
}

func (t *Terminal) frameLine(line []byte) Line {
	f := Line{Wrapped: isWrapped(line), Runs: []Run{}}
	var last cell
	for l := readLine(line); l.next(); {
		text := string(l.text)
		if l.op == opBlank {
			text = fmt.Sprintf("%*s", l.n, "")
		}
		cols := l.n * l.width()
		if n := len(f.Runs); n > 0 && l.style == last {
			f.Runs[n-1].Text += text
			f.Runs[n-1].Cols += cols
			continue
		}
		last = l.style
		f.Runs = append(f.Runs, Run{Text: text, Cols: cols, Style: t.style(l.style)})
	}
	return f
}

var underlineNames = [...]string{"", "single", "double", "curly", "dotted", "dashed", "", ""}

// style returns nil for the default style.
func (t *Terminal) style(c cell) *Style {
	e := t.extras.value(c.ext)
	s := Style{
		Foreground:     c.attr.fg().String(),
		Background:     c.attr.bg().String(),
		UnderlineColor: e.underline.String(),
		Underline:      underlineNames[c.attr.underline()],
		Bold:           c.attr&bold != 0,
		Faint:          c.attr&faint != 0,
		Italic:         c.attr&italic != 0,
		Blink:          c.attr&blink != 0,
		Inverse:        c.attr&inverse != 0,
		Conceal:        c.attr&conceal != 0,
		Strike:         c.attr&strike != 0,
		Overline:       c.attr&overline != 0,
		Link:           e.uri,
	}
	if s == (Style{}) {
		return nil
	}
	return &s
}

// String returns "" for the default, an index, or #rrggbb.
func (c color) String() string {
	switch c & colorMode {
	case colorDefault:
		return ""
	case colorRGB:
		return fmt.Sprintf("#%06x", uint32(c&colorValue))
	}
	return fmt.Sprint(uint32(c & colorValue))
}
