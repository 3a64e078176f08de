package vt

import "strconv"

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
