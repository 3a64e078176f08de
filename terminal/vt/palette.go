package vt

import (
	"fmt"
	"strconv"
	"strings"
)

type rgb [3]uint8

func (c rgb) String() string {
	return fmt.Sprintf("rgb:%02x/%02x/%02x", c[0], c[1], c[2])
}

// palette is what OSC 4 and OSC 10 to 12 set. What is not in it has the
// default colour.
type palette struct {
	indexed map[uint8]rgb
	special [3]rgb // foreground, background, cursor
	set     [3]bool
}

var specialNames = [3]string{"foreground", "background", "cursor"}

func (p *palette) reset() { *p = palette{} }

func (p *palette) resetSpecial(which int) { p.special[which], p.set[which] = rgb{}, false }

func (p *palette) index(i uint8) rgb {
	if c, ok := p.indexed[i]; ok {
		return c
	}
	return defaultIndexed(i)
}

// specialColor is the foreground, background or cursor colour.
func (p *palette) specialColor(which int) rgb {
	if p.set[which] || which == 1 {
		return p.special[which] // the default background is black
	}
	return rgb{0xff, 0xff, 0xff}
}

// defaultIndexed is the palette of xterm.js.
func defaultIndexed(i uint8) rgb {
	switch {
	case i < 16:
		return defaultBasic[i]
	case i < 232:
		level := func(v uint8) uint8 {
			if v == 0 {
				return 0
			}
			return v*40 + 55
		}
		i -= 16
		return rgb{level(i / 36), level(i / 6 % 6), level(i % 6)}
	}
	grey := (i-232)*10 + 8
	return rgb{grey, grey, grey}
}

var defaultBasic = [16]rgb{
	{0x2e, 0x34, 0x36}, {0xcc, 0x00, 0x00}, {0x4e, 0x9a, 0x06}, {0xc4, 0xa0, 0x00},
	{0x34, 0x65, 0xa4}, {0x75, 0x50, 0x7b}, {0x06, 0x98, 0x9a}, {0xd3, 0xd7, 0xcf},
	{0x55, 0x57, 0x53}, {0xef, 0x29, 0x29}, {0x8a, 0xe2, 0x34}, {0xfc, 0xe9, 0x4f},
	{0x72, 0x9f, 0xcf}, {0xad, 0x7f, 0xa8}, {0x34, 0xe2, 0xe2}, {0xee, 0xee, 0xec},
}

// setPalette is OSC 4: pairs of an index and a colour or "?".
func (t *Terminal) setPalette(data string) {
	fields := strings.Split(data, ";")
	for ; len(fields) > 1; fields = fields[2:] {
		i, err := strconv.ParseUint(fields[0], 10, 8)
		if err != nil {
			continue
		}
		if fields[1] == "?" {
			t.replyf("\x1b]4;%d;%s\x1b\\", i, wideColor(t.palette.index(uint8(i))))
			continue
		}
		if c, ok := parseColor(fields[1]); ok {
			if t.palette.indexed == nil {
				t.palette.indexed = make(map[uint8]rgb)
			}
			t.palette.indexed[uint8(i)] = c
			t.emit(EventColor, fields[0], c.String())
		}
	}
}

// resetPalette is OSC 104: the indices given, or all.
func (t *Terminal) resetPalette(data string) {
	if data == "" {
		t.palette.indexed = nil
		t.emit(EventColor, "all", "")
		return
	}
	for field := range strings.SplitSeq(data, ";") {
		if i, err := strconv.ParseUint(field, 10, 8); err == nil {
			delete(t.palette.indexed, uint8(i))
			t.emit(EventColor, field, "")
		}
	}
}

// setSpecialColors is OSC 10 to 12: each field is for one colour more.
func (t *Terminal) setSpecialColors(which int, data string) {
	for field := range strings.SplitSeq(data, ";") {
		if which == len(t.palette.special) {
			return
		}
		if field == "?" {
			t.replyf("\x1b]%d;%s\x1b\\", 10+which, wideColor(t.palette.specialColor(which)))
		} else if c, ok := parseColor(field); ok {
			t.palette.special[which], t.palette.set[which] = c, true
			t.emit(EventColor, specialNames[which], c.String())
		}
		which++
	}
}

// wideColor is the form that replies have: four digits for each part.
func wideColor(c rgb) string {
	return fmt.Sprintf("rgb:%02x%02x/%02x%02x/%02x%02x", c[0], c[0], c[1], c[1], c[2], c[2])
}

// parseColor reads rgb:r/g/b with one to four digits each, and #rgb with one
// to four digits each.
func parseColor(s string) (rgb, bool) {
	s = strings.ToLower(s)
	if rest, ok := strings.CutPrefix(s, "rgb:"); ok {
		parts := strings.Split(rest, "/")
		if len(parts) != 3 || len(parts[0]) != len(parts[1]) || len(parts[0]) != len(parts[2]) {
			return rgb{}, false
		}
		return parseParts(parts, func(v, full uint64) uint8 { return uint8((v*255*2 + full) / (full * 2)) })
	}
	rest, ok := strings.CutPrefix(s, "#")
	n := len(rest) / 3
	if !ok || n == 0 || len(rest)%3 != 0 {
		return rgb{}, false
	}
	parts := []string{rest[:n], rest[n : 2*n], rest[2*n:]}
	return parseParts(parts, func(v, full uint64) uint8 {
		if full == 15 {
			return uint8(v << 4)
		}
		return uint8(v * 256 / (full + 1))
	})
}

// parseParts reads hexadecimal numbers of one to four digits and scales them
// to 8 bits.
func parseParts(parts []string, scale func(v, full uint64) uint8) (c rgb, ok bool) {
	for i, part := range parts {
		v, err := strconv.ParseUint(part, 16, 64)
		if err != nil || len(part) > 4 {
			return rgb{}, false
		}
		c[i] = scale(v, 1<<(4*len(part))-1)
	}
	return c, true
}
