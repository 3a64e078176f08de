package viewer

import "testing"

func TestKeyFinder(t *testing.T) {
	tests := []struct {
		name    string
		control byte
		in      []string
		want    string // what is passed on, flushed at the end
		found   ownKey
		rest    string
	}{
		{"text", 0x1c, []string{"hello"}, "hello", noKey, ""},
		{"control byte", 0x1c, []string{"ab\x1ccd"}, "ab", detachKey, "cd"},
		{"kitty", 0x1c, []string{"ab\x1b[92;5ucd"}, "ab", detachKey, "cd"},
		{"kitty, with caps and num lock", 0x1c, []string{"\x1b[92;197u"}, "", detachKey, ""},
		{"kitty, alternate key and press", 0x1c, []string{"\x1b[92::92;5:1u"}, "", detachKey, ""},
		{"kitty, release", 0x1c, []string{"\x1b[92;5:3u"}, "\x1b[92;5:3u", noKey, ""},
		{"kitty, other key", 0x1c, []string{"\x1b[93;5u"}, "\x1b[93;5u", noKey, ""},
		{"kitty, alt too", 0x1c, []string{"\x1b[92;7u"}, "\x1b[92;7u", noKey, ""},
		{"modifyOtherKeys", 0x1c, []string{"x\x1b[27;5;92~"}, "x", detachKey, ""},
		{"split control sequence", 0x1c, []string{"a\x1b[9", "2;5", "u"}, "a", detachKey, ""},
		{"split other sequence", 0x1c, []string{"a\x1b[1;", "5A"}, "a\x1b[1;5A", noKey, ""},
		{"lone escape is not held", 0x1c, []string{"\x1b"}, "\x1b", noKey, ""},
		{"never ended", 0x1c, []string{"\x1b[92;5"}, "\x1b[92;5", noKey, ""},
		{"arrow", 0x1c, []string{"\x1b[A"}, "\x1b[A", noKey, ""},
		{"escape within", 0x1c, []string{"\x1b[\x1b[92;5u"}, "\x1b[", detachKey, ""},
		{"switch key", 0x1c, []string{"ab\x07cd\x1c"}, "ab", switchKey, "cd\x1c"},
		{"switch key, kitty", 0x1c, []string{"ab\x1b[103;5ucd"}, "ab", switchKey, "cd"},
		{"detach key first", 0x1c, []string{"ab\x1c\x07"}, "ab", detachKey, "\x07"},
		{"NUL is no key", 0x1c, []string{"ab\x00\x1b[96;5u"}, "ab\x00\x1b[96;5u", noKey, ""},
		{"letter", 0x01, []string{"\x1b[97;5u"}, "", detachKey, ""},
		{"letter by byte", 0x01, []string{"z\x01"}, "z", detachKey, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := keyFinder{detach: tt.control, change: 0x07}
			var got string
			found := noKey
			for _, in := range tt.in {
				var before []byte
				before, found = f.find([]byte(in))
				if got += string(before); found != noKey {
					break
				}
			}
			if found == noKey {
				got += string(f.flush())
			}
			if got != tt.want || found != tt.found || string(f.rest) != tt.rest {
				t.Errorf("got %q, %v, then %q, want %q, %v, then %q", got, found, f.rest, tt.want, tt.found, tt.rest)
			}
		})
	}
}

// Whatever is typed arrives, whole and in order, up to a key of our own.
func FuzzKeyFinder(f *testing.F) {
	f.Add([]byte("a\x1b[92;5ub"), 4)
	f.Add([]byte("\x1b[\x1c"), 2)
	f.Add([]byte("a\x1b[103;5ub"), 4)
	f.Fuzz(func(t *testing.T, p []byte, at int) {
		whole := keyFinder{detach: 0x1c, change: 0x07}
		before, found := whole.find(p)
		want := string(before)
		if found == noKey {
			want += string(whole.flush())
			if want != string(p) {
				t.Fatalf("%q became %q", p, want)
			}
		}
		if at < 0 || at > len(p) {
			at = len(p) / 2
		}
		split := keyFinder{detach: 0x1c, change: 0x07}
		before, splitFound := split.find(p[:at])
		got := string(before)
		if splitFound == noKey {
			before, splitFound = split.find(p[at:])
			got += string(before)
		}
		if splitFound == noKey {
			got += string(split.flush())
		}
		lone := at > 0 && p[at-1] == esc // a lone ESC is passed on at once
		if !lone && (got != want || splitFound != found) {
			t.Errorf("split at %d: got %q, %v, want %q, %v", at, got, splitFound, want, found)
		}
	})
}
