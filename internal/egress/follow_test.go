package egress

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Each denial is told once, also when the log becomes the older one; what was there
// before is not told.
func TestFollow(t *testing.T) {
	d := newDenials(filepath.Join(privateDir(t), "denials"))
	d.add("dns", "before.test", "why")
	since := time.Now()
	d.now = func() time.Time { since = since.Add(time.Millisecond); return since }
	began := since
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan string, 100)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Follow(ctx, d.path, began, func(list []Denial) {
			for _, one := range list {
				told <- one.Target
			}
		})
	}()
	var got []string
	for _, want := range []string{"one.test", "two.test"} {
		d.add("dns", want, "why")
		got = append(got, <-told)
	}
	for range maxLog / 100 {
		d.add("dns", "a.test", since.String())
	}
	d.add("dns", "last.test", "why")
	for last := ""; last != "last.test"; {
		last = <-told
		got = append(got, last)
	}
	cancel()
	<-ended
	if slices.Contains(got, "before.test") || !slices.Equal(got[:2], []string{"one.test", "two.test"}) || len(told) > 0 {
		t.Errorf("told %q and %d more", got, len(told))
	}
}
