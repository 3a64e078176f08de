package viewer

import "testing"

func TestKeyFinder(t *testing.T) {
	tests := []struct {
		name    string
		control byte
		in      []string
		want    string // what is passed on, flushed at the end
		found   bool
	}{
		{"text", 0x1c, []string{"hello"}, "hello", false},
		{"control byte", 0x1c, []string{"ab\x1ccd"}, "ab", true},
		{"kitty", 0x1c, []string{"ab\x1b[92;5ucd"}, "ab", true},
		{"kitty, with caps and num lock", 0x1c, []string{"\x1b[92;197u"}, "", true},
		{"kitty, alternate key and press", 0x1c, []string{"\x1b[92::92;5:1u"}, "", true},
		{"kitty, release", 0x1c, []string{"\x1b[92;5:3u"}, "\x1b[92;5:3u", false},
		{"kitty, other key", 0x1c, []string{"\x1b[93;5u"}, "\x1b[93;5u", false},
		{"kitty, alt too", 0x1c, []string{"\x1b[92;7u"}, "\x1b[92;7u", false},
		{"modifyOtherKeys", 0x1c, []string{"x\x1b[27;5;92~"}, "x", true},
		{"split control sequence", 0x1c, []string{"a\x1b[9", "2;5", "u"}, "a", true},
		{"split other sequence", 0x1c, []string{"a\x1b[1;", "5A"}, "a\x1b[1;5A", false},
		{"lone escape is not held", 0x1c, []string{"\x1b"}, "\x1b", false},
		{"never ended", 0x1c, []string{"\x1b[92;5"}, "\x1b[92;5", false},
		{"arrow", 0x1c, []string{"\x1b[A"}, "\x1b[A", false},
		{"escape within", 0x1c, []string{"\x1b[\x1b[92;5u"}, "\x1b[", true},
		{"letter", 0x01, []string{"\x1b[97;5u"}, "", true},
		{"letter by byte", 0x01, []string{"z\x01"}, "z", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := keyFinder{control: tt.control}
			var got string
			found := false
			for _, in := range tt.in {
				var before []byte
				before, found = f.find([]byte(in))
				if got += string(before); found {
					break
				}
			}
			if !found {
				got += string(f.flush())
			}
			if got != tt.want || found != tt.found {
				t.Errorf("got %q, %v, want %q, %v", got, found, tt.want, tt.found)
			}
		})
	}
}

// Whatever is typed arrives, whole and in order, up to the detach key.
func FuzzKeyFinder(f *testing.F) {
	f.Add([]byte("a\x1b[92;5ub"), 4)
	f.Add([]byte("\x1b[\x1c"), 2)
	f.Fuzz(func(t *testing.T, p []byte, at int) {
		whole := keyFinder{control: 0x1c}
		before, found := whole.find(p)
		want := string(before)
		if !found {
			want += string(whole.flush())
			if want != string(p) {
				t.Fatalf("%q became %q", p, want)
			}
		}
		if at < 0 || at > len(p) {
			at = len(p) / 2
		}
		split := keyFinder{control: 0x1c}
		before, splitFound := split.find(p[:at])
		got := string(before)
		if !splitFound {
			before, splitFound = split.find(p[at:])
			got += string(before)
		}
		if !splitFound {
			got += string(split.flush())
		}
		lone := at > 0 && p[at-1] == esc // a lone ESC is passed on at once
		if !lone && (got != want || splitFound != found) {
			t.Errorf("split at %d: got %q, %v, want %q, %v", at, got, splitFound, want, found)
		}
	})
}
