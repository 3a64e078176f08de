package vt

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
