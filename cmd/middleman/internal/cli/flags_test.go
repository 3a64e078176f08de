package cli

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		in   string
		want time.Duration // 0: refused
	}{
		{"30d", 30 * day}, {"1d12h", 36 * time.Hour}, {"12h", 12 * time.Hour}, {"90s", 90 * time.Second}, {"36500d", 36500 * day},
		{"", 0}, {"0d", 0}, {"0s", 0}, {"soon", 0}, {"-1h", 0}, {"1d-1h", 0}, {"-1d", 0}, {"36501d", 0}, {"d", 0}, {"1.5d", 0}, {"1h1d", 0}, {"7", 0},
	} {
		got, err := Span("since", tt.in)
		if got != tt.want || (err == nil) != (tt.want > 0) {
			t.Errorf("%q: %v, %v, want %v", tt.in, got, err, tt.want)
		}
		if err != nil && exitCode(err) != exitUsage {
			t.Errorf("%q: exit code %d", tt.in, exitCode(err))
		}
	}
}
