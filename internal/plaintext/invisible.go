package plaintext

import (
	"unicode"
	"unicode/utf8"
)

const (
	joiner      = '\u200d' // zero width joiner, used in emoji
	asText      = '\ufe0e' // shows the character before it as text
	asEmoji     = '\ufe0f' // shows the character before it as an emoji
	keycap      = '\u20e3' // puts the character before it on a key
	brailleNone = '\u2800'
)

// suspicious reports whether r may have to be spelled out.
func suspicious(r rune) bool { return r == utf8.RuneError || !shows(r) }

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
	return !invisible(r)
}

// showsInContent is shows for what is on a terminal's screen.
func showsInContent(r rune) bool {
	return r == brailleNone || shows(r) || unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// invisible reports whether r, from U+0300 on, has no picture of its own.
func invisible(r rune) bool {
	switch r {
	case brailleNone,
		0x16fe4, // Khitan filler
		0x1d159: // musical null notehead
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// waits reports whether the character after r decides how r is shown.
func waits(before, r rune) bool {
	return r == joiner || r == asEmoji && onKey(before)
}

// inEmoji reports whether r is an invisible part of an emoji: a joiner between
// two pictures, or the one selector after a picture that has two forms.
func inEmoji(before, r, next rune) bool {
	switch r {
	case joiner:
		return (picture(before) || before == asEmoji) && picture(next)
	case asText:
		return twoForms(before)
	case asEmoji:
		return twoForms(before) || onKey(before) && next == keycap
	}
	return false
}

// picture reports whether r can stand beside a joiner in an emoji.
func picture(r rune) bool {
	return r >= 0x2190 && r != utf8.RuneError && !braille(r) && unicode.In(r, unicode.So, unicode.Sk)
}

// twoForms reports whether r is a text or an emoji, as the selector after it
// says.
func twoForms(r rune) bool {
	switch r {
	case '©', '®', '‼', '⁉', '™', 'ℹ', '〰', '〽', '㊗', '㊙':
		return true
	}
	return r >= 0x2190 && r < 0x2c00 && !braille(r) && unicode.In(r, unicode.So, unicode.Sm) || r >= 0x1f000 && picture(r)
}

func braille(r rune) bool { return r >= brailleNone && r <= 0x28ff }

// onKey reports whether a keycap can follow r.
func onKey(r rune) bool { return r == '#' || r == '*' || r >= '0' && r <= '9' }
