package dashboard

import "testing"

func TestUncoloured(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"\x1b[31mred\x1b[m", "red\x1b[m"},
		{"\x1b[1;33mbold\x1b[0m", "\x1b[1mbold\x1b[0m"},
		{"\x1b[7m> \x1b[39;49mx", "\x1b[7m> x"},
		{"\x1b[38;5;20;4mx", "\x1b[4mx"},
		{"\x1b[1;48;2;1;2;3;3mx", "\x1b[1;3mx"},
		{"\x1b[38:2::1:2:3;4:3;58:5:1mx", "\x1b[4:3mx"},
		{"\x1b[97;107;59mx", "x"},
		{"\x1b[38", ""},
	} {
		if got := uncoloured(tt.in); got != tt.want {
			t.Errorf("%q is %q, want %q", tt.in, got, tt.want)
		}
	}
}
