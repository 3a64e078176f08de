package vt

import "strconv"

// attr packs what SGR sets, but for underline colour and hyperlink (see extra).
//
//	bits 0-25   foreground: 24 bits of value, 2 bits of mode
//	bits 26-51  background
//	bits 52-60  flags
//	bits 61-63  underline style, 0 is none
type attr uint64

const (
	bold attr = 1 << (52 + iota)
	faint
	italic
	blink
	inverse
	conceal
	strike
	overline
	protected
)

const (
	colorMask      = 1<<26 - 1
	bgShift        = 26
	fgMask    attr = colorMask
	bgMask    attr = colorMask << bgShift

	underlineShift      = 61
	underlineMask  attr = 7 << underlineShift
)

// color is 24 bits of value under 2 bits of mode. The zero color is the
// default one.
type color uint32

const (
	colorDefault color = iota << 24
	colorBasic         // 0-15, set by 30-37 and the like
	colorIndex         // 0-255, set by 38;5
	colorRGB

	colorMode  color = 3 << 24
	colorValue color = 1<<24 - 1
)

func (a attr) fg() color      { return color(a & fgMask) }
func (a attr) bg() color      { return color(a & bgMask >> bgShift) }
func (a attr) underline() int { return int(a >> underlineShift) }

func (a attr) withFg(c color) attr { return a&^fgMask | attr(c) }
func (a attr) withBg(c color) attr { return a&^bgMask | attr(c)<<bgShift }
func (a attr) withUnderline(style int) attr {
	return a&^underlineMask | attr(style)<<underlineShift
}

// erased is what an erased cell keeps: the background colour.
func (a attr) erased() attr { return a & bgMask }

// pen is the style of the next written cell.
type pen struct {
	attr attr
	ext  uint32
}

// extra is the rare part of a style.
type extra struct {
	underline color
	id, uri   string // hyperlink; id is the program's own name for it
}

func (e extra) bytes() int { return 64 + len(e.id) + len(e.uri) }

// sgrFlags are the flags in the order that they are written.
var sgrFlags = []struct {
	flag attr
	code int
}{
	{bold, 1}, {faint, 2}, {italic, 3}, {blink, 5}, {inverse, 7}, {conceal, 8}, {strike, 9}, {overline, 53},
}

// appendSGR appends the parameters of the SGR that sets this style from any
// other. They begin with 0.
func appendSGR(dst []byte, a attr, underline color) []byte {
	dst = append(dst, '0')
	for _, f := range sgrFlags {
		if a&f.flag != 0 {
			dst = append(dst, ';')
			dst = strconv.AppendInt(dst, int64(f.code), 10)
		}
	}
	switch style := a.underline(); style {
	case 0:
	case 1:
		dst = append(dst, ";4"...)
	default:
		dst = append(dst, ";4:"...)
		dst = append(dst, byte('0'+style))
	}
	dst = appendColor(dst, a.fg(), 30)
	dst = appendColor(dst, a.bg(), 40)
	return appendColor(dst, underline, 50)
}

// appendColor appends the parameters that set a colour; base is 30, 40 or 50.
func appendColor(dst []byte, c color, base int64) []byte {
	v := int64(c & colorValue)
	switch c & colorMode {
	case colorDefault:
		return dst
	case colorBasic:
		if v >= 8 {
			v += 60 - 8
		}
		dst = append(dst, ';')
		return strconv.AppendInt(dst, base+v, 10)
	case colorIndex:
		dst = append(dst, ';')
		dst = strconv.AppendInt(dst, base+8, 10)
		dst = append(dst, separator(base)...)
		dst = append(dst, '5')
		dst = append(dst, separator(base)...)
		return strconv.AppendInt(dst, v, 10)
	}
	dst = append(dst, ';')
	dst = strconv.AppendInt(dst, base+8, 10)
	sep := separator(base)
	dst = append(dst, sep...)
	dst = append(dst, '2')
	if base == 50 {
		dst = append(dst, ':') // the colour space, left out
	}
	for shift := 16; shift >= 0; shift -= 8 {
		dst = append(dst, sep...)
		dst = strconv.AppendInt(dst, v>>shift&255, 10)
	}
	return dst
}

// separator is ";" as all terminals take it, but ":" for the underline colour,
// which those that do not know it then skip whole.
func separator(base int64) string {
	if base == 50 {
		return ":"
	}
	return ";"
}
