package viewer

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func press(units ...uint16) (keys []consoleKey) {
	for _, u := range units {
		keys = append(keys, consoleKey{down: true, repeats: 1, code: 'A', char: u}, consoleKey{repeats: 1, code: 'A', char: u})
	}
	return keys
}

func TestConsoleKeys(t *testing.T) {
	for name, test := range map[string]struct {
		keys []consoleKey
		want string
	}{
		"a letter":                            {press('a'), "a"},
		"a letter that is held":               {[]consoleKey{{down: true, repeats: 3, code: 'A', char: 'a'}}, "aaa"},
		"no repeats is one":                   {[]consoleKey{{down: true, code: 'A', char: 'a'}}, "a"},
		"ctrl-C":                              {press(3), "\x03"},
		"enter":                               {press('\r'), "\r"},
		"not ASCII":                           {press('é', '€'), "é€"},
		"a cursor key, as the console has it": {[]consoleKey{{down: true, char: 0x1b}, {down: true, char: '['}, {down: true, char: 'A'}}, "\x1b[A"},
		"shift alone":                         {[]consoleKey{{down: true, repeats: 1, code: 0x10}, {code: 0x10}}, ""},
		"a function key without VT input":     {[]consoleKey{{down: true, repeats: 1, code: 0x70}}, ""},
		"ctrl-space":                          {[]consoleKey{{down: true, repeats: 1, code: keySpace, ctrl: true}}, "\x00"},
		"ctrl-2":                              {[]consoleKey{{down: true, repeats: 1, code: keyTwo, ctrl: true}}, "\x00"},
		"NUL of the console":                  {[]consoleKey{{down: true, repeats: 1}}, "\x00"},
		"alt and digits":                      {[]consoleKey{{down: true, code: keyMenu}, {code: keyMenu, char: 'ü'}}, "ü"},
		"alt alone":                           {[]consoleKey{{down: true, code: keyMenu}, {code: keyMenu}}, ""},
		"a pair":                              {press(utf16.Encode([]rune("😀"))...), "😀"},
		"a first half alone":                  {press(0xd83d, 'x'), "\ufffdx"},
		"a second half alone":                 {press(0xde00), "\ufffd"},
		"two first halves":                    {press(0xd83d, 0xd83d, 0xde00), "\ufffd😀"},
	} {
		t.Run(name, func(t *testing.T) {
			var c consoleKeys
			var got []byte
			for _, k := range test.keys {
				got = c.append(got, k)
			}
			if string(got) != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got := new(consoleKeys).append(nil, consoleKey{down: true, repeats: 1<<16 - 1, char: 'a'}); len(got) != maxRepeats {
		t.Errorf("a key that repeats without bound typed %d bytes", len(got))
	}
}

// What is typed is valid UTF-8, and what UTF-16 means.
func FuzzConsoleKeys(f *testing.F) {
	f.Add([]byte("a\x00\x3d\xd8\x00\xde"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var units []uint16
		for pair := range slices.Chunk(raw[:len(raw)&^1], 2) {
			units = append(units, binary.LittleEndian.Uint16(pair))
		}
		var c consoleKeys
		var got []byte
		for _, u := range units {
			got = c.append(got, consoleKey{down: true, repeats: 1, char: u})
		}
		if c.high != 0 {
			units = units[:len(units)-1]
		}
		if want := []byte(string(utf16.Decode(units))); !bytes.Equal(got, want) || !utf8.Valid(got) {
			t.Errorf("%x typed %q, want %q", units, got, want)
		}
	})
}
