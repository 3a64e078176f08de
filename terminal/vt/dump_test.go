package vt

import (
	"fmt"
	"slices"
	"strings"
)

// dump is the whole state of t as text. Two Terminals are equal if their dumps
// are.
func (t *Terminal) dump() string {
	var b strings.Builder
	fmt.Fprintf(&b, "size %dx%d alt=%v\n", t.cols, t.rows, t.onAlt())
	fmt.Fprintf(&b, "cursor x=%d y=%d wrapAt=%d shape=%d\n", t.x, t.y, t.wrapAt, t.cursorShape)
	fmt.Fprintf(&b, "pen %s\n", t.dumpStyle(t.pen.attr, t.pen.ext))
	fmt.Fprintf(&b, "join class=%d width=%d dropped=%v\n", t.grapheme.class, t.grapheme.width, t.graphemeDropped)
	fmt.Fprintf(&b, "charsets %q gl=%d single=%d\n", t.charsets, t.gl, t.singleShift)
	fmt.Fprintf(&b, "modes %016b mouse=%d encoding=%d\n", t.modes, t.mouse, t.encoding)
	fmt.Fprintf(&b, "title %q icon %q stacks %q %q directory %q progress %v\n", t.title, t.icon, t.titleStack, t.iconStack, t.directory, t.progress)
	fmt.Fprintf(&b, "palette %v special %v set %v\n", t.palette.indexed, t.palette.special, t.palette.set)
	p := &t.parser
	fmt.Fprintf(&b, "parser state=%d raw=%q payload=%q partial=%q\n", p.state, p.raw, p.payload, p.partial[:p.npart])
	if p.state != ground {
		fmt.Fprintf(&b, "  collect=%x params=%v subs=%v inSub=%v overflow=%v\n", p.collect, p.params.v[:p.params.n],
			p.params.sub[:p.params.nsub], p.params.inSub, p.params.overflow)
	}
	fmt.Fprintf(&b, "scrollback %d lines, %d bytes of %d\n", t.scrollback.lines, t.scrollback.used, t.scrollback.budget)
	t.scrollback.each(t.scrollback.lines, func(line []byte) {
		b.WriteString(t.dumpLine(line))
	})
	b.WriteString("main\n")
	t.dumpScreen(&b, t.main)
	b.WriteString("alternate\n")
	t.dumpScreen(&b, t.alt)
	return b.String()
}

func (t *Terminal) dumpScreen(b *strings.Builder, s *screen) {
	var stops []int
	for x := range len(s.tabs) * 64 {
		if s.tabs.has(x) {
			stops = append(stops, x)
		}
	}
	fmt.Fprintf(b, "  region %d-%d margins %d-%d tabs %v keys %d %v\n", s.top, s.bottom, s.left, s.right, stops,
		s.keys.current, slices.Clone(s.keys.pushed))
	v := s.saved
	fmt.Fprintf(b, "  saved %v x=%d y=%d wrapAt=%d %s charsets %q gl=%d origin=%v\n", v.set, v.x, v.y, v.wrapAt,
		t.dumpStyle(v.pen.attr, v.pen.ext), v.charsets, v.gl, v.origin)
	fmt.Fprintf(b, "  held %v\n", s.inactiveCursor)
	for _, r := range s.rows {
		b.WriteString(t.dumpLine(t.encodeLine(nil, r)))
	}
}

func (t *Terminal) dumpLine(line []byte) string {
	var b strings.Builder
	b.WriteString("  ")
	if isWrapped(line) {
		b.WriteString("+")
	}
	b.WriteString("|")
	last := ""
	for l := readLine(line); l.next(); {
		if s := t.dumpStyle(l.style.attr, l.style.ext); s != last {
			fmt.Fprintf(&b, "{%s}", s)
			last = s
		}
		if l.op == opBlank {
			fmt.Fprintf(&b, "<%d>", l.n)
		} else {
			fmt.Fprintf(&b, "%d:%s", l.width(), l.text)
		}
	}
	b.WriteString("|\n")
	return b.String()
}

func (t *Terminal) dumpStyle(a attr, ext uint32) string {
	e := t.extras.value(ext)
	s := string(appendSGR(nil, a, e.underline))
	if a&protected != 0 {
		s += " protected"
	}
	if e.uri != "" {
		s += fmt.Sprintf(" link %q %q", e.id, e.uri)
	}
	return s
}
