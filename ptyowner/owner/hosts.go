package owner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/ptyowner/state"
	"middleman/terminal"
	"middleman/terminal/host"
	"middleman/terminal/journal"
	"middleman/terminal/recording"
	"middleman/terminal/vt"
)

// How a session goes on after its owner was killed, if its host outlives
// owners:
//
//  1. The host starts another owner, and passes it the start request as
//     standard input, and the terminal's descriptors.
//  2. The new owner takes owner.lock and goes on at the end of the journal. If the
//     killed owner had taken output that it had not yet written (see takeMark), that
//     is a gap, which viewers see like any other gap.
//  3. It draws the screen from the journal.
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

// hostName returns the name of the host as state records it, "" for the PTY.
func (o *owner) hostName() string { return o.host.Name() }

// lose records that the host does not report the end of processes any more,
// which includes the program's end if that has not come yet. Called with mu
// held.
func (o *owner) lose() {
	o.lost = true
	o.broadcast()
}

// giveUp ends an owner that cannot learn of its program's end. It ends all
// processes of the session, and writes no exit record, so that the session
// counts as lost.
func (o *owner) giveUp(join func()) {
	logf("the process that runs the program was killed, so its exit is not known; processes that it left are ended")
	if err := o.dir.StopStrays(max(0, o.spec.Grace)); err != nil {
		logf("%v", err)
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

// endGone ends the session's processes if their terminal ended before them.
func (o *owner) endGone() {
	logf("the terminal has ended: its programs are ended")
	if _, err := o.stop(max(0, o.spec.Grace)); err != nil {
		logf("end the session: %v", err)
	}
}

// errExitRecorded means that the killed owner had recorded the session's exit,
// so that nothing is left to do.
var errExitRecorded = errors.New("the exit is on disk")

// adopt makes an owner that goes on for one that was killed. If that one had
// recorded the exit, adopt returns errExitRecorded.
func adopt(in io.Reader, build string, hosts []host.Host) (o *owner, err error) {
	var req state.StartRequest
	if err := json.NewDecoder(io.LimitReader(in, maxStartRequest)).Decode(&req); err != nil {
		return nil, fmt.Errorf("read specification: %w", err)
	}
	o = newOwner(req.Spec, req.Dir, req.Socket, build)
	o.token = []byte(newToken())
	setUmask(stateUmask)
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
	if o.listener, err = ipc.Listen(o.socket); err != nil {
		return nil, err
	}
	if err := o.dir.WriteRecord(o.record()); err != nil {
		return nil, err
	}
	return o, o.step(eventStarted)
}

// lostAtOnce is the size of the gap in bytes that a killed owner leaves: as
// much as it may have read but not written.
const lostAtOnce = readBytes

// goOn opens the journal, leaves a gap at its end if the killed owner may have taken output
// that is not there, and draws the screen as of the end.
func (o *owner) goOn() (err error) {
	if o.journal, err = journal.Create(o.dir.Journal(), journal.Options{KeepBytes: o.spec.JournalBytes}); err != nil {
		return err
	}
	end := o.journal.Head()
	if !o.tookAll() {
		o.journal.Skip(lostAtOnce)
	}
	o.markTaking()
	o.recent.skip(o.journal.Head())
	o.unseen.seen = o.journal.Head() // nobody knows what was seen before
	screen, err := recording.Open(o.dir.Journal(), recording.Options{Size: o.spec.Size, ScrollbackBytes: o.spec.ScrollbackBytes}).At(end)
	if err != nil {
		logf("draw the earlier screen: %v", err)
		screen.Terminal = vt.New(vt.Options{Cols: int(o.size.Cols), Rows: int(o.size.Rows)})
	}
	cols, rows := screen.Terminal.Size()
	o.size = terminal.Size{Cols: uint16(cols), Rows: uint16(rows)}
	o.title, o.progress = screen.Terminal.Title(), screen.Terminal.Progress()
	o.screen.init(o)
	o.screen.restore(screen.Terminal.AppendSnapshot(nil, vt.SnapshotOptions{Scrollback: -1}), o.recent.head)
	mark := o.journal.MarkSize(o.size.Cols, o.size.Rows)
	o.screen.rec.sized = mark
	size := o.size
	o.addEvent(terminal.Event{Kind: terminal.EventSize, Offset: mark.Offset, Size: &size})
	return nil
}

// loseOutput leaves a gap at the head, for output that the host lost.
func (o *owner) loseOutput() {
	o.taking.Lock()
	defer o.taking.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.printed = time.Now()
	o.coming.Store(o.recent.head + lostAtOnce)
	o.journal.Skip(lostAtOnce)
	o.recent.skip(o.recent.head + lostAtOnce)
	o.broadcast()
}

// takeMark is a file that says whether the owner has just taken output that the journal
// does not have yet. If the owner is killed, the next one knows by it whether output was
// lost. Only hosts that outlive owners have it; a nil takeMark does nothing. It is not
// synced: a program does not outlive its system.
type takeMark struct{ f *os.File }

var marked, unmarked = []byte("1"), []byte("0")

// markTaking makes the file of a session whose host outlives owners. Without it a killed
// owner counts as one that has lost output, so an error is only logged.
func (o *owner) markTaking() {
	if o.hostName() == "" {
		return
	}
	f, err := private.Create(o.dir.File(state.TakingFile))
	if err != nil {
		logf("output that a kill loses will be a guess: %v", err)
		return
	}
	o.mark = &takeMark{f}
	o.mark.set(unmarked)
}

// forgetTaking removes the file: an image that does not know it may go on.
func (o *owner) forgetTaking() {
	if o.mark == nil {
		return
	}
	o.mark.f.Close()
	o.mark = nil
	if err := os.Remove(o.dir.File(state.TakingFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		logf("%v", err)
	}
}

// tookAll reports whether the owner before had all output in the journal that it had taken.
func (o *owner) tookAll() bool {
	was, err := private.ReadFile(o.dir.File(state.TakingFile))
	return err == nil && bytes.Equal(was, unmarked)
}

func (m *takeMark) begin() { m.set(marked) }
func (m *takeMark) end()   { m.set(unmarked) }

func (m *takeMark) set(to []byte) {
	if m == nil {
		return
	}
	if _, err := m.f.WriteAt(to, 0); err != nil {
		_ = os.Remove(m.f.Name()) // what it says would be believed
	}
}
