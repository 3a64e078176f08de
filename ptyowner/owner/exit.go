package owner

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"middleman/internal/fault"
	"middleman/ptyowner/wire"
	"middleman/terminal"
)

const (
	// drainQuiet is how long a PTY must be quiet after the program's end to
	// count as read to its end, if a grandchild keeps it open.
	drainQuiet = 50 * time.Millisecond
	// drainQuiets is how many such times drain waits for a grandchild that
	// keeps writing.
	drainQuiets = 20
	// drainBytes is more than a PTY buffers: bytes beyond it, after the
	// program's end, are not the program's.
	drainBytes = 256 << 10
	// lingerTime is how long an owner waits for a client to learn of the exit.
	lingerTime = time.Minute
	// recordRetry is how often linger retries to write the exit record.
	recordRetry = time.Second
)

// finish handles the program's end, in this order: it reads the PTY to its end,
// syncs the journal, writes screen.ans and exit.json, and only then lets
// viewers know.
func (o *owner) finish(status waitStatus) {
	o.refuseUpgrade()
	fault.Here("exit/reaped")
	o.drain()
	fault.Here("exit/drained")
	o.mu.Lock()
	for !o.screen.done {
		o.screenMoved.Wait()
	}
	exit := exitOf(status)
	exit.Offset, exit.Size, exit.Title, exit.Stopped = o.recent.head, o.size, o.title, o.stopAsked
	o.mu.Unlock()

	// If the record cannot be written, the exit is a fact nevertheless: clients
	// that ask are told, and linger keeps trying to write it.
	err := o.recordExit(exit)
	fault.Here("exit/recorded")
	o.mu.Lock()
	defer o.mu.Unlock()
	o.exit, o.recorded = &exit, err == nil
	if o.recorded {
		o.term.Done()
	}
	if err := o.stepLocked(eventTold); err != nil {
		logf("tell exit: %v", err)
	}
}

// recordExit writes all that remains of the session to disk.
func (o *owner) recordExit(exit terminal.Exit) error {
	filled, err := o.fillJournal()
	if filled {
		fault.Here("exit/journal-filled")
	}
	if err = errors.Join(err, o.journal.Sync(), o.writeExit(exit)); err != nil {
		logf("record exit: %v", err)
	}
	return err
}

// drain waits until the PTY has been read to its end. If a grandchild keeps the
// PTY open, drain ends once no more output comes. A head that does not move is
// not enough: the reader may wait for the screen or for a processor.
func (o *owner) drain() {
	quiet := o.term.Quiet()
	wake := time.NewTicker(quiet)
	defer wake.Stop()
	deadline := time.Now().Add(drainQuiets * quiet)
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.mu.Lock()
		defer o.mu.Unlock()
		for !o.drained {
			o.changed.Wait()
		}
	}()
	first := o.head()
	for last := first; ; last = o.head() {
		select {
		case <-done:
			o.term.Close()
			return
		case now := <-wake.C:
			head, idle := o.head(), !o.moving.Load() && !o.term.Readable()
			late := now.After(deadline) && (idle || head-first > drainBytes)
			if idle && head == last || late {
				o.term.Close() // wakes the reader, which sets drained and ends
				<-done
				return
			}
		}
	}
}

func (o *owner) head() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.recent.head
}

// writeExit writes the last screen and the exit record.
func (o *owner) writeExit(exit terminal.Exit) error {
	fault.Here("exit/journal-synced")
	return errors.Join(
		o.dir.WriteScreen(o.screen.snapshot(-1).data),
		o.dir.WriteExit(exit))
}

func exitOf(status waitStatus) terminal.Exit {
	exit := terminal.Exit{Code: status.ExitStatus(), Time: status.at}
	if status.Signaled() {
		exit.Code = -1
		exit.Signal = int(status.Signal())
		exit.SignalName = signalName(status.Signal())
	}
	return exit
}

// wireExit converts an exit to its form on the wire. The wire's types are
// permanent, those of package terminal are not.
func wireExit(e terminal.Exit) wire.Exit {
	return wire.Exit{
		Code: e.Code, Signal: e.Signal, SignalName: e.SignalName, Stopped: e.Stopped,
		Offset: e.Offset, Time: e.Time, Size: wire.Size(e.Size), Title: e.Title,
	}
}

// linger keeps the owner running for clients that want to know of the exit:
// until one of them knows and all have disconnected, or until a minute has
// passed. It also stays, without a limit, until the exit record is on disk,
// unless the state directory was removed; and while processes of the session
// are left, so that a stop can find them.
func (o *owner) linger() {
	fault.Here("exit/told")
	for !o.recorded { // finish has returned, and nothing else writes recorded
		if _, err := os.Lstat(o.dir.Path); errors.Is(err, fs.ErrNotExist) {
			break // no client will look for it
		}
		time.Sleep(recordRetry)
		o.recorded = o.recordExit(*o.exit) == nil
	}
	o.term.Done()
	alone := !o.isReachable() // no client can come to acknowledge
	expired := false
	timer := time.AfterFunc(lingerTime, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		expired = true
		o.broadcast()
	})
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for !((o.acked || alone) && len(o.viewers) == 0 || expired) || o.hasRemaining() {
		o.changed.Wait()
	}
	// Close at once: a client that comes now finds the state on disk.
	if err := o.stepLocked(eventOver); err != nil {
		logf("close: %v", err)
	}
}

// isReachable reports whether a client could still find the owner: its record
// and its socket are in place.
func (o *owner) isReachable() bool {
	r, err := o.dir.ReadRecord()
	if err != nil || r.Token != string(o.token) {
		return false
	}
	_, err = os.Lstat(o.socket)
	return err == nil
}

// hasRemaining reports whether processes of the session are left. Every such
// tree of processes hangs from a child of the owner. The end of a child is a
// SIGCHLD, whose handling wakes linger.
func (o *owner) hasRemaining() bool {
	pids, err := o.remaining()
	return err == nil && len(pids) > 0
}

// acknowledge records that a client knows of the exit.
func (o *owner) acknowledge() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.acked = true
	o.broadcast()
}
