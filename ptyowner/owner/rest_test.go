//go:build unix

package owner

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// An owner comes to rest once after each time that something happened, when
// that is over.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, quit := newRest(), make(chan struct{})
		var rested atomic.Int32
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for r.await(quit) {
				rested.Add(1)
			}
		}()
		expect := func(want int32, when string) {
			t.Helper()
			if synctest.Wait(); rested.Load() != want {
				t.Errorf("%s: came to rest %d times, want %d", when, rested.Load(), want)
			}
		}
		time.Sleep(time.Hour)
		expect(0, "untouched")
		for range 100 {
			r.active()
			time.Sleep(restAfter / 4)
		}
		expect(0, "busy")
		time.Sleep(2 * restAfter)
		expect(1, "quiet")
		time.Sleep(time.Hour)
		expect(1, "at rest")
		r.active()
		time.Sleep(2 * restAfter)
		expect(2, "after one key")
		r.active()
		synctest.Wait()
		close(quit)
		<-ended
		expect(2, "ended")
	})
}
