//go:build unix

package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/fault"
	"middleman/ptyowner/wire"
	"middleman/terminal"
)

const (
	// drainQuiet is how long a PTY that a grandchild keeps open must be quiet
	// after the program's end to count as read to its end.
	drainQuiet = 50 * time.Millisecond
	// drainQuiets times as long a grandchild that goes on writing is listened
	// to.
	drainQuiets = 20
	// drainBytes is more than a PTY holds: so much after the program's end is
	// not the program's.
	drainBytes = 256 << 10
	// lingerTime is how long an owner stays for somebody to learn of the exit.
	lingerTime = time.Minute
	// recordRetry is how often a disk that took no exit record is tried again.
	recordRetry = time.Second
)

// finish makes the program's end a fact, in this order: the PTY is read to its
// end, the journal is synced, screen.ans and exit.json are on disk, viewers
// are told.
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
	exit.Offset, exit.Size, exit.Title = o.recent.head, o.size, o.title
	o.mu.Unlock()

	// A disk that takes no record cannot undo the exit: it is told to those who
	// ask, and linger goes on trying.
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

// recordExit puts all that is left of the session on disk.
func (o *owner) recordExit(exit terminal.Exit) error {
	err := errors.Join(o.fillJournal(), o.journal.Sync(), o.writeExit(exit))
	if err != nil {
		logf("record exit: %v", err)
	}
	return err
}

// fillJournal writes the output that a full disk has kept out of the journal
// and that is in memory still.
func (o *owner) fillJournal() error {
	gap, ok := o.journal.Gap()
	if !ok {
		return nil
	}
	o.mu.Lock()
	from := max(gap, o.recent.oldest())
	tail := make([]byte, o.recent.head-from)
	o.recent.read(tail, from)
	o.mu.Unlock()
	if len(tail) == 0 { // nothing has come after what is missing
		return nil
	}
	err := o.journal.Fill(tail)
	fault.Here("exit/journal-filled")
	return err
}

// drain waits until the PTY has been read to its end. A grandchild may keep
// it open; then it ends when nothing more comes. That nothing moves proves
// nothing: the reader may wait for the screen, or for a processor.
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
				o.term.Close() // wakes the reader, which ends with drained
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

// writeExit puts the last screen and the exit on disk.
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

// wireExit is an exit as the wire has it, whose shapes are permanent, while those
// of package terminal are not.
func wireExit(e terminal.Exit) wire.Exit {
	return wire.Exit{
		Code: e.Code, Signal: e.Signal, SignalName: e.SignalName,
		Offset: e.Offset, Time: e.Time, Size: wire.Size(e.Size), Title: e.Title,
	}
}

// signalName is a signal's name, that of a real-time signal by its distance
// from the first (signal(7)).
func signalName(sig unix.Signal) string {
	const first = 34 // SIGRTMIN, as the C library has it
	switch name := unix.SignalName(sig); {
	case name != "":
		return name
	case sig == first:
		return "SIGRTMIN"
	case sig > first:
		return fmt.Sprintf("SIGRTMIN+%d", sig-first)
	}
	return fmt.Sprintf("SIG%d", sig)
}

// linger keeps the owner for those who want to know of the exit: until one of
// them does and all that were connected have left, or a minute has passed;
// and in any case until the exit is on disk, unless the state directory was
// removed, and while processes of the session are left that a stop would have
// to find.
func (o *owner) linger() {
	fault.Here("exit/told")
	for !o.recorded { // finish has ended, and nobody else writes it
		if _, err := os.Lstat(o.dir.Path); errors.Is(err, fs.ErrNotExist) {
			break // nobody will look for it
		}
		time.Sleep(recordRetry)
		o.recorded = o.recordExit(*o.exit) == nil
	}
	o.term.Done()
	alone := !o.isReachable() // nobody will come who could acknowledge
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
	// At once: who joins now looks again, and finds the state on disk.
	if err := o.stepLocked(eventOver); err != nil {
		logf("close: %v", err)
	}
}

// isReachable reports whether a client that looks for the owner would find it:
// one whose record or socket is gone has nobody to wait for.
func (o *owner) isReachable() bool {
	r, err := o.dir.ReadRecord()
	if err != nil || r.Token != string(o.token) {
		return false
	}
	_, err = os.Lstat(o.socket)
	return err == nil
}

// hasRemaining reports whether processes of the session are left. Each such
// tree hangs from a child of the owner, whose end is a SIGCHLD, so whoever
// waits is woken.
func (o *owner) hasRemaining() bool {
	pids, err := o.remaining()
	return err == nil && len(pids) > 0
}

// acknowledge notes that a client knows of the exit.
func (o *owner) acknowledge() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.acked = true
	o.broadcast()
}
