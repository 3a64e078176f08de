package config

import "testing"

func TestParseBytes(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64 // -1 is an error
	}{
		{"0", 0}, {"1000", 1000}, {"7B", 7}, {"64MB", 64e6}, {"64mb", 64e6}, {"64MiB", 64 << 20}, {"64M", 64 << 20},
		{"4G", 4 << 30}, {"1kB", 1000}, {"2TiB", 2 << 40}, {"9223372036854775807", 1<<63 - 1},
		{"", -1}, {"MB", -1}, {"-1", -1}, {"1.5MB", -1}, {"64 MB", -1}, {"64XB", -1}, {"64MBB", -1},
		{"9223372036854775808", -1}, {"9223372036854775807k", -1}, {"0x10", -1},
	} {
		got, err := ParseBytes(tt.in)
		if (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
			t.Errorf("%q: %d, %v; want %d", tt.in, got, err, tt.want)
		}
	}
}
