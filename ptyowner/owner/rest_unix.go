//go:build unix

package owner

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// restAfter is how long nothing must have happened before an owner gives
	// memory back.
	restAfter = 2 * time.Second
	// restBytes is how much memory an owner may have without collecting
	// garbage, which takes about 1 MiB for good by itself, and restMore how much
	// it must have got since it did.
	restBytes = 4 << 20
	restMore  = 1 << 20
)

// rest makes an owner small that has nothing to do. At rest it has no timer:
// nothing wakes it but an event.
type rest struct {
	happened atomic.Bool   // something happened since the last look
	wake     chan struct{} // one token: the first such thing
}

func newRest() *rest { return &rest{wake: make(chan struct{}, 1)} }

// active says that something happens. It is cheap enough for every read.
func (r *rest) active() {
	if r.happened.Load() || r.happened.Swap(true) {
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// await returns when something happened and then nothing for a while; false
// says that quit is closed.
func (r *rest) await(quit <-chan struct{}) bool {
	select {
	case <-r.wake:
	case <-quit:
		return false
	}
	for r.happened.Swap(false) {
		select {
		case <-r.wake: // of what happened meanwhile
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

// startResting makes the owner give memory back whenever it comes to rest,
// until stopped.
func (o *owner) startResting() (stop func()) {
	refuseHugePages()
	quit := make(chan struct{})
	var loop sync.WaitGroup
	o.rest.active() // the start
	loop.Go(func() {
		var collected uint64 // what it had when it last was
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
