package egress

import (
	"context"
	"os"
	"slices"
	"time"
)

const (
	// followEvery is how often a log is looked at that is followed.
	followEvery = 500 * time.Millisecond
	// maxFollowed bounds the denials that are told at once. The last ones are told.
	maxFollowed = 20
)

// Follow calls tell with the denials that are written to the log at path later than
// since, within a second, in their order. It returns when ctx has ended. A log that
// cannot be read has none.
func Follow(ctx context.Context, path string, since time.Time, tell func([]Denial)) {
	ticks := time.NewTicker(followEvery)
	defer ticks.Stop()
	var seen os.FileInfo
	for {
		info, err := os.Stat(path)
		if err == nil && (seen == nil || !os.SameFile(info, seen) || info.Size() != seen.Size()) {
			seen = info
			if list, err := ReadDenials(path, maxFollowed); err == nil {
				list = slices.DeleteFunc(list, func(d Denial) bool { return !d.Time.After(since) })
				if len(list) > 0 {
					since = list[len(list)-1].Time
					tell(list)
				}
			}
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
	}
}
