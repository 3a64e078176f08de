//go:build unix

package owner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"middleman/ptyowner/state"
	"middleman/terminal"
	"middleman/terminal/host"
	"middleman/terminal/journal"
	"middleman/terminal/recording"
	"middleman/terminal/vt"
)

// What happens where a host outlives owners, and one was killed:
//
//  1. The host starts another owner, with the start request as its standard
//     input, and its descriptors.
//  2. That takes owner.lock, and goes on with the journal at its end. What the
//     killed one had read and not written is a gap, which viewers are told of
//     as of any.
//  3. The screen is drawn from the journal.
//  4. It binds the socket, writes owner.json anew, and serves.

// findHost returns the host of that name; "" is the PTY.
func findHost(name string, hosts []host.Host) (host.Host, error) {
	if name == "" {
		return ptyHost{}, nil
	}
	for _, h := range hosts {
		if h.Name() == name {
			return h, nil
		}
	}
	return nil, fmt.Errorf("this build has no host %q", name)
}

// hostName is what is recorded of the host, "" for the PTY.
func (o *owner) hostName() string { return o.host.Name() }

// stateFormat is that of the state that another image would have to read.
func (o *owner) stateFormat() int {
	if o.hostName() == "" {
		return handoverFormat
	}
	return hostedFormat
}

// lose notes that nobody tells of the end of processes any more, the program's
// where that has not ended. Called with mu held.
func (o *owner) lose() {
	o.lost = true
	o.broadcast()
}

// giveUp ends an owner whose program's end is not told by anybody: without an
// exit record, so that the session counts as lost, and without leaving
// anything of it behind.
func (o *owner) giveUp(join func()) {
	logf("what runs the program was killed: its exit is not known; what it has left is ended")
	if left := o.dir.StopStrays(max(0, o.spec.Grace)); len(left) > 0 {
		logf("these processes do not end: %v", left)
	}
	o.term.Close()
	o.mu.Lock()
	o.drained, o.phase = true, phaseClosing
	o.broadcast()
	o.mu.Unlock()
	o.journal.Sync()
	o.close()
	join()
	o.lock.Close()
}

// endGone ends what runs on a terminal that has ended before it.
func (o *owner) endGone() {
	logf("the terminal has ended: its programs are ended")
	if _, err := o.stop(max(0, o.spec.Grace)); err != nil {
		logf("end the session: %v", err)
	}
}

// adoptMain is the owner process that a host starts because one was killed.
func adoptMain(build string, hosts []host.Host) int {
	closeOnExec()
	o, err := adopt(os.Stdin, build, hosts)
	if errors.Is(err, errExitRecorded) {
		return 0
	}
	if err != nil {
		logf("go on for an owner that was killed: %v", err)
		return 1
	}
	o.run()
	return 0
}

// errExitRecorded says that the owner which was killed was done: its session's
// exit is a fact.
var errExitRecorded = errors.New("the exit is on disk")

// adopt is an owner that goes on where another was killed. Where that had
// recorded the exit there is nothing to go on with.
func adopt(in io.Reader, build string, hosts []host.Host) (o *owner, err error) {
	var req state.StartRequest
	if err := json.NewDecoder(io.LimitReader(in, maxStartRequest)).Decode(&req); err != nil {
		return nil, fmt.Errorf("read specification: %w", err)
	}
	o = newOwner(req.Spec, req.Dir, req.Socket, build)
	o.token = []byte(newToken())
	unix.Umask(stateUmask)
	if o.lock, err = takeOwnerLock(o.dir); err != nil {
		return nil, err
	}
	had, err := o.dir.ReadRecord()
	if err != nil {
		return nil, err
	}
	o.started = had.Created
	if o.host, err = findHost(req.Host, hosts); err != nil {
		return nil, err
	}
	if o.term, o.pid, err = o.host.Adopt(); err != nil {
		return nil, err
	}
	if _, ended, err := o.dir.ReadExit(); ended && err == nil {
		o.term.Done()
		return nil, errExitRecorded
	}
	harden()
	if err := o.goOn(); err != nil {
		return nil, err
	}
	if err := o.bind(); err != nil {
		return nil, err
	}
	if err := o.dir.WriteRecord(o.record()); err != nil {
		return nil, err
	}
	return o, o.step(eventStarted)
}

// lostAtOnce is how long the gap is that a killed owner leaves: what it may
// have read and not written.
const lostAtOnce = readBytes

// goOn goes on with the journal behind a gap, and draws the screen as of its
// end.
func (o *owner) goOn() (err error) {
	if o.journal, err = journal.Create(o.dir.Journal(), journal.Options{KeepBytes: o.spec.JournalBytes}); err != nil {
		return err
	}
	end := o.journal.Head()
	o.journal.Skip(lostAtOnce)
	o.recent.skip(o.journal.Head())
	screen, err := recording.Open(o.dir.Journal(), recording.Options{Size: o.spec.Size, ScrollbackBytes: o.spec.ScrollbackBytes}).At(end)
	if err != nil {
		logf("draw the screen of before: %v", err)
		screen.Terminal = vt.New(vt.Options{Cols: int(o.size.Cols), Rows: int(o.size.Rows)})
	}
	cols, rows := screen.Terminal.Size()
	o.size, o.title = terminal.Size{Cols: uint16(cols), Rows: uint16(rows)}, screen.Terminal.Title()
	o.screen.init(o)
	o.screen.restore(screen.Terminal.AppendSnapshot(nil, vt.SnapshotOptions{Scrollback: -1}), o.recent.head)
	mark := o.journal.MarkSize(o.size.Cols, o.size.Rows)
	o.screen.rec.sized = mark
	size := o.size
	o.addEvent(terminal.Event{Kind: terminal.EventSize, Offset: mark.Offset, Size: &size})
	return nil
}

// loseOutput leaves a gap at the head, where a host lost output.
func (o *owner) loseOutput() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.coming.Store(o.recent.head + lostAtOnce)
	o.journal.Skip(lostAtOnce)
	o.recent.skip(o.recent.head + lostAtOnce)
	o.broadcast()
}
