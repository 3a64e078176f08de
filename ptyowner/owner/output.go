package owner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"middleman/internal/fault"
	"middleman/internal/poll"
	"middleman/terminal"
	"middleman/terminal/host"
	"middleman/terminal/journal"
	"middleman/terminal/vt"
)

const (
	// readBytes is how many bytes one read takes from the PTY at most.
	readBytes = 32 << 10
	// recentBytes is how much output is kept in memory: for viewers at the
	// head, and for the screen while the journal cannot be written.
	recentBytes = 2 * readBytes
	// leastTail is how far behind the screen may at least read from a journal.
	// One that keeps less than four segments may have trimmed what the screen
	// has not read.
	leastTail = 512 << 10
	// maxScreenLag is how many bytes the screen may lag behind before publish
	// holds the program back.
	maxScreenLag = 4 << 20
	// maxSizes is how many sizes may wait for the screen. With more, resize
	// waits for the screen.
	maxSizes = 64
)

// ring holds the newest output: the bytes [oldest, head).
type ring struct {
	buf  []byte
	head uint64
	full bool   // buf holds len(buf) bytes
	from uint64 // bytes before from are not held: they were lost, or another owner read them
}

// append adds p and drops the oldest bytes.
func (r *ring) append(p []byte) {
	if skip := len(p) - len(r.buf); skip > 0 {
		r.head += uint64(skip)
		p = p[skip:]
	}
	for len(p) > 0 {
		at := int(r.head % uint64(len(r.buf)))
		n := copy(r.buf[at:], p)
		r.head += uint64(n)
		p = p[n:]
	}
	r.full = r.full || r.head >= uint64(len(r.buf))
}

// oldest returns the first offset that the ring holds.
func (r *ring) oldest() uint64 {
	if !r.full {
		return r.from
	}
	return max(r.from, r.head-uint64(len(r.buf)))
}

// skip moves the head and drops everything before it.
func (r *ring) skip(head uint64) { r.head, r.from, r.full = head, head, head >= uint64(len(r.buf)) }

// all returns a copy of what the ring holds.
func (r *ring) all() []byte {
	p := make([]byte, r.head-r.oldest())
	r.read(p, r.oldest())
	return p
}

// restore sets the ring's content to p, which ends at head.
func (r *ring) restore(p []byte, head uint64) {
	r.head = head - uint64(len(p))
	r.append(p)
	r.full = len(p) >= len(r.buf)
}

// read copies bytes from off on, which must lie in [oldest, head), and returns
// how many.
func (r *ring) read(p []byte, off uint64) int {
	if left := r.head - off; uint64(len(p)) > left {
		p = p[:left]
	}
	at := int(off % uint64(len(r.buf)))
	n := copy(p, r.buf[at:])
	return n + copy(p[n:], r.buf)
}

// readPTY moves output from the PTY to the journal and then to viewers and
// screen, until the PTY ends or is closed, or the owner pauses. Of these only
// the screen can hold it back.
func (o *owner) readPTY() {
	buf := make([]byte, readBytes)
	for {
		err := o.awaitOutput()
		if err == nil {
			_, err = o.takeOutput(buf)
		}
		if errors.Is(err, host.ErrGap) {
			o.loseOutput()
			err = nil
		}
		if err == nil {
			continue
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.reading = false
		o.giveBack(backFrame{})
		o.drained = !errors.Is(err, os.ErrDeadlineExceeded) // the deadline that a pause sets
		if o.drained && o.end == nil && !o.lost {
			o.conns.Go(o.endGone)
		}
		o.broadcast()
		return
	}
}

// takeOutput reads the output that there is, at most len(buf) bytes, and
// publishes it.
func (o *owner) takeOutput(buf []byte) (n int, err error) {
	o.taking.Lock()
	defer o.taking.Unlock()
	return o.takeLocked(buf)
}

// takeLocked is takeOutput with taking held.
func (o *owner) takeLocked(buf []byte) (n int, err error) {
	o.mark.begin()
	if n, err = o.term.ReadNow(buf); n == 0 {
		o.mark.end()
		return 0, err
	}
	fault.Here("output/taken")
	o.moving.Store(true)
	defer o.moving.Store(false)
	o.publish(buf[:n])
	return n, err
}

// publish writes p to the journal and hands it to viewers and screen. It blocks
// while the screen lags too far behind. Called with taking held.
func (o *owner) publish(p []byte) {
	o.rest.active()
	o.coming.Store(o.recent.head + uint64(len(p))) // only who holds taking moves the head
	// Append ends a gap for good, so what memory has of it is stored first.
	_, _ = o.fillJournal()
	// A failure leaves a gap in the journal, which readers see; the session
	// goes on.
	failed := o.journal.Append(p) != nil
	if !failed {
		o.mark.end()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	from := o.recent.head
	o.printed = time.Now()
	o.tellUnseen()
	o.recent.append(p)
	o.tellViewers(from, p)
	o.tellActivity()
	if !o.screen.drawNow(from, p) || o.early > 0 {
		o.newOutput.Broadcast()
	}
	lag := uint64(maxScreenLag)
	if keep := uint64(o.spec.JournalBytes); keep > 0 {
		lag = min(lag, keep/2) // a trim keeps three quarters
	}
	if failed || lag < leastTail {
		lag = readBytes // the screen can only read from memory; the next read must not overwrite that
	}
	for o.recent.head-o.screen.offset > lag && !o.screen.done {
		o.screenMoved.Wait()
	}
}

// fillJournal stores output that a full disk kept out of the journal, as far as
// it is still in memory. On error, and while publish adds output, nothing has
// changed. Called without mu.
func (o *owner) fillJournal() (filled bool, err error) {
	gap, ok := o.journal.Gap()
	if !ok {
		return false, nil
	}
	o.mu.Lock()
	from := max(gap, o.recent.oldest())
	if from >= o.recent.head { // no output came since the gap
		o.mu.Unlock()
		return false, nil
	}
	tail := make([]byte, o.recent.head-from)
	o.recent.read(tail, from)
	o.mu.Unlock()
	err = o.journal.Fill(from, tail)
	return err == nil, err
}

// tellViewers sends p, the newest output, to the writer if that does not block,
// and wakes all viewers that lag behind. Called with mu held.
func (o *owner) tellViewers(from uint64, p []byte) {
	if o.writer != nil && len(p) <= poll.PromptBytes {
		o.writer.sendNow(from, p)
	}
	for v := range o.viewers {
		if v.offset < o.recent.head && !v.noOutput {
			v.newOutput.Signal()
		}
	}
}

// readOutput copies output from off into p: recent output from memory, older
// from the journal. off must lie below the head. Called without mu.
func (o *owner) readOutput(r *journal.Reader, p []byte, off uint64) (int, error) {
	o.mu.Lock()
	if off >= o.recent.oldest() {
		n := o.recent.read(p, off)
		o.mu.Unlock()
		return n, nil
	}
	o.mu.Unlock()
	n, err := r.ReadAt(p, off)
	if errors.Is(err, io.EOF) || errors.Is(err, journal.ErrBeyond) {
		// The journal ends in a gap, and memory has dropped these bytes
		// meanwhile.
		return 0, &journal.GapError{Offset: off, Next: off + 1}
	}
	return n, err
}

// resize changes the size of the terminal at once, and that of the screen at
// the present head, and records an event for viewers.
func (o *owner) resize(size terminal.Size) error {
	size = boundSize(size)
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.sizes) >= maxSizes && !o.screen.done && o.phase != phasePaused {
		o.screenMoved.Wait()
	}
	switch {
	case o.phase == phasePaused:
		return errPaused
	case o.end != nil || size == o.size:
		return nil
	}
	if err := o.term.SetSize(size); err != nil {
		return fmt.Errorf("resize terminal of session %s: %w", o.spec.ID, err)
	}
	o.size = size
	// Output that is in the journal but not published yet came before the size.
	mark := o.journal.MarkSize(size.Cols, size.Rows)
	o.sizes = append(o.sizes, sizeChange{mark: mark, size: size})
	o.addEvent(terminal.Event{Kind: terminal.EventSize, Offset: mark.Offset, Size: &size})
	return nil
}

// boundSize returns the size nearest to s that both the program and the screen
// can have. They must agree, because output is only right on a screen of the
// size that it was written for.
func boundSize(s terminal.Size) terminal.Size {
	cols, rows := vt.ClampSize(int(s.Cols), int(s.Rows))
	s.Cols, s.Rows = uint16(cols), uint16(rows)
	return s
}

// writeInput types p. It blocks while the program does not read, until the PTY
// ends or the owner pauses. With errPaused, only the first n bytes were typed.
func (o *owner) writeInput(p []byte) (n int, err error) {
	n, err = o.term.Write(p)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, errPaused
	case errors.Is(err, os.ErrClosed):
		return n, terminal.ErrEnded
	}
	return n, fmt.Errorf("type at session %s: %w", o.spec.ID, err)
}

// maxAnswers is how many replies may wait to be typed. If there are more, the
// program does not read them, and further replies are dropped.
const maxAnswers = 64

// answer queues a reply of the screen to a query, unless a terminal is
// attached, which replies itself. It never blocks.
func (o *owner) answer(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writer != nil || o.end != nil || o.term.Answers() || len(o.answers) == maxAnswers {
		return
	}
	o.answers = append(o.answers, bytes.Clone(p))
	o.broadcast()
}

// writeAnswers types queued replies until the owner closes or pauses. The rest
// of a reply that a pause interrupts stays queued.
func (o *owner) writeAnswers() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.answers) == 0 && o.phase != phaseClosing && o.phase != phasePaused {
			o.changed.Wait()
		}
		if o.phase == phaseClosing || o.phase == phasePaused {
			return
		}
		p := o.answers[0]
		o.mu.Unlock()
		n, err := o.writeInput(p)
		o.mu.Lock()
		if errors.Is(err, errPaused) {
			o.answers[0] = p[n:]
			continue
		}
		// The reply was typed, or the program that asked may have ended.
		o.answers = o.answers[1:]
	}
}
