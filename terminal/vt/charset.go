package vt

import "unicode/utf8"

var asciiCharsets = [4]byte{'B', 'B', 'B', 'B'}

// A national set replaces these ASCII characters; the DEC line drawing set
// those from '`' to '~'.
const (
	nationalPositions = "#@[\\]^_`{|}~"
	drawingPositions  = "`abcdefghijklmnopqrstuvwxyz{|}~"
)

// charsetTexts are the replacements, by the final byte of the designation.
var charsetTexts = map[byte]string{
	'0': "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·",
	'A': "£@[\\]^_`{|}~", // British
	'4': "£¾i½|^_`¨f¼´",  // Dutch
	'C': "#@ÄÖÅÜ_éäöåü",  // Finnish
	'5': "#@ÄÖÅÜ_éäöåü",  // Finnish
	'R': "£à°ç§^_`éùè¨",  // French
	'Q': "#àâçêî_ôéùèû",  // French Canadian
	'K': "#§ÄÖÜ^_`äöüß",  // German
	'Y': "£§°çé^_ùàòèì",  // Italian
	'E': "#ÄÆØÅÜ_äæøåü",  // Norwegian, Danish
	'6': "#ÄÆØÅÜ_äæøåü",  // Norwegian, Danish
	'Z': "£§¡Ñ¿^_`°ñç~",  // Spanish
	'H': "#ÉÄÖÅÜ_éäöåü",  // Swedish
	'7': "#ÉÄÖÅÜ_éäöåü",  // Swedish
	'=': "ùàéçêîèôäöüû",  // Swiss
}

// charsetTables are the same, by character.
var charsetTables = func() (tables [0x80]*[0x80]rune) {
	for final, text := range charsetTexts {
		positions := nationalPositions
		if final == '0' {
			positions = drawingPositions
		}
		table := new([0x80]rune)
		for i := range positions {
			r, n := utf8.DecodeRuneInString(text)
			table[positions[i]] = r
			text = text[n:]
		}
		tables[final] = table
	}
	return tables
}()

// addDesignations adds ESC ( F and the like. A set that is not known is ASCII.
func addDesignations(table map[uint32]func(*Terminal)) {
	finals := []byte{'B'}
	for final := range charsetTexts {
		finals = append(finals, final)
	}
	for i, intermediate := range []byte("()*+-.") { // "-" and "." as in xterm.js
		g := []int{0, 1, 2, 3, 1, 2}[i]
		for _, final := range finals {
			table[uint32(intermediate)<<8|uint32(final)] = func(t *Terminal) { t.charsets[g] = final }
		}
	}
}

func (t *Terminal) charset() byte { return t.charsets[t.gl] }

func (t *Terminal) resetCharsets() {
	t.charsets = asciiCharsets
	t.gl, t.singleShift = 0, 0
}

func (t *Terminal) defaultCharset() {
	t.gl = 0
	t.charsets[0] = 'B'
}

// translate applies the character set in use, and ends a single shift.
func (t *Terminal) translate(r rune) rune {
	set := t.charset()
	if t.singleShift != 0 {
		set = t.charsets[t.singleShift]
		t.singleShift = 0
	}
	return translate(set, r)
}

func translate(set byte, r rune) rune {
	table := charsetTables[set]
	if table == nil || r >= 0x7f || table[r] == 0 {
		return r
	}
	return table[r]
}

// untranslate returns the character that the set shows as r.
func untranslate(set byte, r rune) rune {
	if table := charsetTables[set]; table != nil {
		for b, shown := range table {
			if shown == r {
				return rune(b)
			}
		}
	}
	return r
}
