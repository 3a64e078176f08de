package vt

// selectGraphics is SGR.
func (t *Terminal) selectGraphics() {
	p := &t.parser.params
	for i := 0; i < p.n; i++ {
		v := p.v[i]
		switch {
		case v == 38 || v == 48 || v == 58:
			i += t.extendedColor(i)
		case v == 4:
			style := 1
			if subs := p.subs(i); len(subs) > 0 {
				style = int(subs[0])
			}
			if style < 0 || style > 5 {
				style = 1
			}
			t.pen.attr = t.pen.attr.withUnderline(style)
		default:
			t.graphic(v)
		}
	}
}

// graphic is one SGR parameter that stands alone.
func (t *Terminal) graphic(v int32) {
	a := &t.pen.attr
	switch {
	case v == 0:
		t.resetGraphics()
	case v <= 9:
		*a |= setFlags[v]
	case v >= 22 && v <= 29 && v != 24 && v != 26:
		*a &^= clearFlags[v-20]
	case v >= 30 && v <= 37:
		*a = a.withFg(colorBasic | color(v-30))
	case v >= 40 && v <= 47:
		*a = a.withBg(colorBasic | color(v-40))
	case v >= 90 && v <= 97:
		*a = a.withFg(colorBasic | color(v-90+8))
	case v >= 100 && v <= 107:
		*a = a.withBg(colorBasic | color(v-100+8))
	case v == 21:
		*a = a.withUnderline(2)
	case v == 24:
		*a = a.withUnderline(0)
	case v == 39:
		*a = a.withFg(colorDefault)
	case v == 49:
		*a = a.withBg(colorDefault)
	case v == 53:
		*a |= overline
	case v == 55:
		*a &^= overline
	case v == 59:
		t.setExtra(func(e *extra) { e.underline = colorDefault })
	}
}

// setFlags is indexed by 1 to 9, clearFlags by 22 to 29 less 20.
var (
	setFlags   = [10]attr{1: bold, 2: faint, 3: italic, 5: blink, 7: inverse, 8: conceal, 9: strike}
	clearFlags = [10]attr{2: bold | faint, 3: italic, 5: blink, 7: inverse, 8: conceal, 9: strike}
)

// resetGraphics is SGR 0. It leaves the hyperlink, and clears the protection
// as xterm.js does.
func (t *Terminal) resetGraphics() {
	t.pen.attr = 0
	if t.pen.ext != 0 {
		t.setExtra(func(e *extra) { e.underline = colorDefault })
	}
}

// setExtra changes the pen's underline colour or hyperlink.
func (t *Terminal) setExtra(change func(*extra)) {
	e := t.extras.value(t.pen.ext)
	change(&e)
	t.pen.ext = t.extra(e)
}

// extendedColor reads 38, 48 or 58 at parameter i and returns how many
// parameters more it took. It takes 38;5;N, 38;2;R;G;B and the forms with
// colons, with and without a colour space, and mixed.
func (t *Terminal) extendedColor(i int) int {
	p := &t.parser.params
	// what, kind, colour space, red or index, green, blue
	v := [6]int32{0, 0, -1, 0, 0, 0}
	space, used := 0, 0
	for {
		v[used+space] = p.v[i+used]
		if subs := p.subs(i + used); len(subs) > 0 {
			for j, sub := range subs {
				if v[1] == 5 {
					space = 1
				}
				if used+j+1+space >= len(v) {
					break
				}
				v[used+j+1+space] = sub
			}
			break
		}
		if v[1] == 5 && used+space >= 2 || v[1] == 2 && used+space >= 5 {
			break
		}
		if v[1] != 0 {
			space = 1
		}
		used++
		if used+i >= p.n || used+space >= len(v) {
			break
		}
	}
	if c, ok := makeColor(v[1], max(v[3], 0), max(v[4], 0), max(v[5], 0)); ok {
		switch v[0] {
		case 38:
			t.pen.attr = t.pen.attr.withFg(c)
		case 48:
			t.pen.attr = t.pen.attr.withBg(c)
		case 58:
			t.setExtra(func(e *extra) { e.underline = c })
		}
	}
	return used
}

func makeColor(kind, r, g, b int32) (color, bool) {
	switch kind {
	case 2:
		return colorRGB | color(r&255)<<16 | color(g&255)<<8 | color(b&255), true
	case 5:
		return colorIndex | color(r&255), true
	}
	return 0, false
}
