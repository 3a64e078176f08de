package owner

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// restAfter is how long nothing must have happened before an owner releases
	// memory.
	restAfter = 2 * time.Second
	// At rest, an owner collects garbage only if its private memory is at least
	// restBytes, and has grown by restMore since the last collection. The
	// collector itself takes about 1 MiB for good.
	restBytes = 4 << 20
	restMore  = 1 << 20
)

// rest makes an idle owner release memory. It has no timer while the owner is
// at rest: only an event wakes it.
type rest struct {
	happened atomic.Bool   // something happened since the last look
	wake     chan struct{} // holds one token once something happened
}

func newRest() *rest { return &rest{wake: make(chan struct{}, 1)} }

// active reports that something happens. It is cheap enough to call for every
// read.
func (r *rest) active() {
	if r.happened.Load() || r.happened.Swap(true) {
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// await returns true once something has happened and then nothing for
// restAfter. It returns false when quit is closed.
func (r *rest) await(quit <-chan struct{}) bool {
	select {
	case <-r.wake:
	case <-quit:
		return false
	}
	for r.happened.Swap(false) {
		select {
		case <-r.wake: // drop a token from meanwhile
		default:
		}
		select {
		case <-time.After(restAfter):
		case <-quit:
			return false
		}
	}
	return true
}

// startResting makes the owner release memory whenever it comes to rest, until
// stop is called.
func (o *owner) startResting() (stop func()) {
	refuseHugePages()
	quit := make(chan struct{})
	var loop sync.WaitGroup
	o.rest.active() // the start
	loop.Go(func() {
		var collected uint64 // the private memory after the last collection
		for o.rest.await(quit) {
			if own := unmapText(); own >= max(restBytes, collected+restMore) {
				debug.FreeOSMemory()
				collected = unmapText()
			}
		}
	})
	return func() {
		close(quit)
		loop.Wait()
	}
}
