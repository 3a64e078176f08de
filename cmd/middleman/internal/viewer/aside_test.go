package viewer

import "testing"

// A sequence of ours goes between those of the program, never into one, nor into
// a character.
func TestBetween(t *testing.T) {
	for _, tt := range []struct {
		name   string
		output []string
		want   bool
	}{
		{"nothing yet", nil, true},
		{"text", []string{"text"}, true},
		{"a whole sequence", []string{"\x1b[1;3", "1m"}, true},
		{"half a sequence", []string{"text\x1b[1;3"}, false},
		{"only ESC", []string{"text\x1b"}, false},
		{"half a title", []string{"\x1b]0;title"}, false},
		{"a title", []string{"\x1b]0;title", "\a"}, true},
		{"half of ST", []string{"\x1b]0;title\x1b"}, false},
		{"a character", []string{"日"}, true},
		{"two bytes of it", []string{"x\xe6\x97"}, false},
		{"one byte of it", []string{"\xe6"}, false},
		{"three of four", []string{"\xf0\x9f\x99"}, false},
		{"no character", []string{"\x97\x97"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tracker := newScreenTracker()
			for _, p := range tt.output {
				tracker.observe([]byte(p))
			}
			if got := tracker.between(); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
