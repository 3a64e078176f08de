package recording

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Moment is an offset, or with a Time the offset that was reached then.
type Moment struct {
	Offset uint64
	Time   time.Time
}

// MomentForms says what ParseMoment reads.
const MomentForms = "an offset (1048576), how long ago (5m or -5m), a time of day (14:05 or 14:05:30, local, yesterday if that is in the future), or a date and time (2026-01-31 14:05:30, local, or RFC 3339: 2026-01-31T14:05:30+01:00)"

// ParseMoment reads one of MomentForms. A date and time in the future is
// an error. The location of now is the local one, and that of the result.
func ParseMoment(text string, now time.Time) (Moment, error) {
	if offset, err := strconv.ParseUint(text, 10, 64); err == nil {
		return Moment{Offset: offset}, nil
	}
	t, ok := parseTime(text, now)
	switch {
	case !ok:
		return Moment{}, fmt.Errorf("%q is not %s", text, MomentForms)
	case t.After(now):
		return Moment{}, fmt.Errorf("%q is %s, which is in the future", text, t.Format(time.DateTime))
	}
	return Moment{Time: t}, nil
}

func parseTime(text string, now time.Time) (time.Time, bool) {
	if ago, err := time.ParseDuration(strings.TrimPrefix(text, "-")); err == nil && !strings.HasPrefix(text, "--") && ago >= 0 {
		return now.Add(-ago), true
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.In(now.Location()), true
	}
	if t, err := time.ParseInLocation(time.DateTime, text, now.Location()); err == nil {
		return t, true
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			y, m, d := now.Date()
			on := func(day int) time.Time {
				return time.Date(y, m, day, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			}
			if on(d).After(now) {
				d--
			}
			return on(d), true
		}
	}
	return time.Time{}, false
}
