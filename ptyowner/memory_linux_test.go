package ptyowner

import "testing"

func TestParseText(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     bool
	}{
		{"text", "00400000-00b9b000 r-xp 00000000 fe:00 1234  /usr/bin/middleman", true},
		{"constants", "00b9b000-0131c000 r--p 0079b000 fe:00 1234  /usr/bin/middleman (deleted)", true},
		{"data", "0131c000-013b2000 rw-p 00f1c000 fe:00 1234  /usr/bin/middleman", false},
		{"heap", "c000000000-c000400000 rw-p 00000000 00:00 0", false},
		{"shared", "7f0000000000-7f0000001000 r--s 00000000 fe:00 99  /tmp/x", false},
		{"vdso", "7ffe2fa14000-7ffe2fa16000 r-xp 00000000 00:00 0  [vdso]", false},
		{"nothing", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			start, size, ok := parseText(c.in)
			if ok != c.want || ok && (start == 0 || size == 0) {
				t.Errorf("parseText = %#x, %#x, %v, want %v", start, size, ok, c.want)
			}
		})
	}
}
