package recording

import (
	"strings"
	"testing"
	"time"
)

func TestParseMoment(t *testing.T) {
	zone := time.FixedZone("there", 3600)
	now := time.Date(2026, 1, 31, 14, 5, 30, 0, zone)
	for _, tt := range []struct {
		in     string
		offset uint64
		time   time.Time
		bad    bool
	}{
		{in: "0"},
		{in: "18446744073709551615", offset: 1<<64 - 1},
		{in: "5m", time: now.Add(-5 * time.Minute)},
		{in: "-5m", time: now.Add(-5 * time.Minute)},
		{in: "1h30m", time: now.Add(-90 * time.Minute)},
		{in: "0s", time: now},
		{in: "13:00", time: time.Date(2026, 1, 31, 13, 0, 0, 0, zone)},
		{in: "14:05:30", time: now},
		{in: "2026-01-30T12:00:00Z", time: time.Date(2026, 1, 30, 12, 0, 0, 0, time.UTC)},
		{in: "2026-01-30T12:00:00.25+02:00", time: time.Date(2026, 1, 30, 10, 0, 0, 250e6, time.UTC)},
		{in: "14:05:31", time: time.Date(2026, 1, 30, 14, 5, 31, 0, zone)},
		{in: "23:59", time: time.Date(2026, 1, 30, 23, 59, 0, 0, zone)},
		{in: "2026-01-30 12:00:00", time: time.Date(2026, 1, 30, 12, 0, 0, 0, zone)},
		{in: "2026-01-31 14:05:31", bad: true},
		{in: "2026-02-01T00:00:00Z", bad: true},
		{in: "", bad: true}, {in: "-", bad: true}, {in: "-5", bad: true}, {in: "--5m", bad: true},
		{in: "yesterday", bad: true}, {in: "25:00", bad: true}, {in: "18446744073709551616", bad: true},
		{in: "2026-01-30", bad: true}, {in: "0x10", bad: true},
	} {
		m, err := ParseMoment(tt.in, now)
		if (err != nil) != tt.bad || m.Offset != tt.offset || !m.Time.Equal(tt.time) {
			t.Errorf("%q: %+v, %v; want %+v", tt.in, m, err, tt)
		}
		if !m.Time.IsZero() && m.Time.Location() != zone {
			t.Errorf("%q: %s is not a local time", tt.in, m.Time)
		}
	}
	// Just after midnight of a month's first day, 23:59 was a minute ago.
	now = time.Date(2026, 3, 1, 0, 0, 30, 0, zone)
	if m, err := ParseMoment("23:59", now); err != nil || !m.Time.Equal(now.Add(-90*time.Second)) {
		t.Errorf("23:59 at %s: %s, %v", now, m.Time, err)
	}
	if _, err := ParseMoment("2026-03-01T00:00:00Z", now); err == nil || !strings.Contains(err.Error(), "2026-03-01 01:00:00, which is in the future") {
		t.Errorf("a time to come is told as %v, want the local one", err)
	}
}
