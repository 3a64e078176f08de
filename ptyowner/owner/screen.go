package owner

import (
	"errors"
	"io"
	"os"
	"sync"

	"middleman/internal/fault"
	"middleman/internal/poll"
	"middleman/internal/private"
	"middleman/ptyowner/state"
	"middleman/terminal"
	"middleman/terminal/journal"
	"middleman/terminal/recording"
	"middleman/terminal/vt"
)

// screenReadBytes is how many bytes the screen is fed at once.
const screenReadBytes = 32 << 10

// screen draws the output and so knows what a viewer would see. The owner's mu
// guards offset, done, idle and lent; the screen's own mu guards its terminal.
type screen struct {
	owner  *owner
	offset uint64 // everything below was fed
	done   bool   // nothing more will be fed
	idle   bool   // run waits for something to do
	lent   bool   // drawNow is feeding the screen; run waits for its end
	rec    recorder

	mu    sync.Mutex // guards the fields below; taken before the owner's mu
	vt    *vt.Terminal
	end   uint64 // of the output that is being drawn
	quiet bool   // restore draws a snapshot, whose events are not reported
}

func (s *screen) init(o *owner) {
	s.owner = o
	s.vt = vt.New(vt.Options{
		Cols:            int(o.size.Cols),
		Rows:            int(o.size.Rows),
		ScrollbackBytes: o.spec.ScrollbackBytes,
		Spill:           &spill{dir: o.dir},
		Event:           s.event,
		Answer:          o.answer,
	})
}

// export returns a snapshot as of the head with all the scrollback. The screen
// must have been fed up to the head.
func (s *screen) export() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vt.AppendSnapshot(nil, vt.SnapshotOptions{Scrollback: -1})
}

// restore draws what export returned, and reports no events for it.
func (s *screen) restore(snapshot []byte, offset uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = true
	s.vt.Write(snapshot)
	s.quiet = false
	s.offset = offset
}

// run feeds the screen until the owner pauses or all output was fed.
func (s *screen) run() {
	o := s.owner
	r := journal.Open(o.dir.Journal())
	defer r.Close()
	buf := make([]byte, screenReadBytes)
	for {
		change, limit, ok := s.next()
		if !ok {
			return
		}
		if change != nil {
			s.resize(*change)
			continue
		}
		limit = s.rec.stop(s, limit)
		s.feed(r, buf[:min(uint64(len(buf)), limit-s.offset)])
	}
}

// next waits for work: a size that holds from the screen's offset, or output up
// to limit. ok is false once no work will come, for now (a pause) or for good.
func (s *screen) next() (change *sizeChange, limit uint64, ok bool) {
	o := s.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if s.lent {
			o.newOutput.Wait()
			continue
		}
		if len(o.sizes) > 0 && o.sizes[0].mark.Offset <= s.offset {
			return &o.sizes[0], 0, true
		}
		if s.offset < o.recent.head {
			limit := o.recent.head
			if len(o.sizes) > 0 {
				limit = min(limit, o.sizes[0].mark.Offset)
			}
			return nil, limit, true
		}
		if o.drained {
			s.done = true
			o.broadcast()
			return nil, 0, false
		}
		if o.phase == phasePaused && !o.reading && o.deciding == 0 {
			return nil, 0, false
		}
		s.idle = true
		o.newOutput.Wait()
		s.idle = false
	}
}

// drawNow feeds the idle screen p, the output from offset from to the head.
// This costs less than waking run for each key's echo. It reports whether it
// did. Called with the owner's mu held, which it releases while it draws.
func (s *screen) drawNow(from uint64, p []byte) bool {
	o := s.owner
	if !s.idle || s.lent || s.offset != from || len(p) > poll.PromptBytes || len(o.sizes) > 0 {
		return false
	}
	if _, due := o.journal.SegmentFrom(max(s.rec.next, 1, from)); due || !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	s.lent = true
	func() {
		o.mu.Unlock()
		defer o.mu.Lock() // after a panic too: the caller will unlock it
		s.draw(p, from+uint64(len(p)))
	}()
	s.lent = false
	s.offset = from + uint64(len(p))
	o.screenMoved.Broadcast()
	if !s.idle { // run was woken meanwhile, for something else
		o.newOutput.Broadcast()
	}
	return true
}

// resize applies the first of the waiting sizes to the screen.
func (s *screen) resize(change sizeChange) {
	o := s.owner
	s.rec.sized = change.mark
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vt.Resize(int(change.size.Cols), int(change.size.Rows))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sizes = o.sizes[1:]
	o.screenMoved.Broadcast()
}

// feed gives the screen the next output, at most len(buf) bytes.
func (s *screen) feed(r *journal.Reader, buf []byte) {
	o := s.owner
	n, err := o.readOutput(r, buf, s.offset)
	skip := uint64(n)
	if err != nil {
		skip = unreadable(err, len(buf))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw(buf[:n], s.offset+uint64(n))
	o.mu.Lock()
	defer o.mu.Unlock()
	s.offset = min(s.offset+skip, o.recent.head)
	o.screenMoved.Broadcast()
}

// draw writes p, the output below end, to the screen. Called with mu held.
func (s *screen) draw(p []byte, end uint64) {
	if err := fault.Error("screen/panic"); err != nil {
		panic(err)
	}
	s.end = end
	s.vt.Write(p)
}

// unreadable returns how much of n unreadable bytes to skip after err, so that
// the output behind them is still drawn.
func unreadable(err error, n int) uint64 {
	var gap *journal.GapError
	if errors.As(err, &gap) {
		return max(gap.Next, gap.Offset+1) - gap.Offset
	}
	return uint64(n)
}

// event reports what the program did besides drawing. The screen's Write calls
// it.
func (s *screen) event(e vt.Event) {
	kind, ok := eventKinds[e.Kind]
	if !ok || s.quiet {
		return
	}
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	switch kind {
	case terminal.EventTitle:
		s.owner.title = e.Text
	case terminal.EventProgress:
		before := s.owner.progress.State
		if s.owner.progress = vt.ParseProgress(e.Text); s.owner.progress.State == before {
			return // percentages come often, and nobody waits for them
		}
	case terminal.EventBell:
		s.owner.ring(s.end)
	}
	s.owner.addEvent(terminal.Event{Kind: kind, Text: e.Text})
}

var eventKinds = map[vt.EventKind]terminal.EventKind{
	vt.EventTitle:        terminal.EventTitle,
	vt.EventProgress:     terminal.EventProgress,
	vt.EventBell:         terminal.EventBell,
	vt.EventNotification: terminal.EventNotification,
	vt.EventDirectory:    terminal.EventDirectory,
}

// view calls f with the screen as of the present head or later, and returns the
// screen's offset. f must not call back into the owner.
func (s *screen) view(f func(*vt.Terminal)) uint64 {
	o := s.owner
	o.mu.Lock()
	for head := o.recent.head; (s.offset < head || len(o.sizes) > 0) && !s.done; {
		o.screenMoved.Wait()
	}
	o.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.vt)
	o.mu.Lock()
	defer o.mu.Unlock()
	return s.offset
}

// snapshot is a drawn screen from which a viewer goes on.
type snapshot struct {
	data      []byte // draws the screen on a reset terminal
	offset    uint64 // the output below it is in data
	size      terminal.Size
	nextEvent uint64 // events with lower numbers came before the snapshot, its size among them
}

// snapshot draws the screen at the session's present size.
func (s *screen) snapshot(scrollback int) (snap snapshot) {
	o := s.owner
	for {
		var cols, rows int
		snap.offset = s.view(func(t *vt.Terminal) {
			cols, rows = t.Size()
			snap.data = t.AppendSnapshot(snap.data[:0], vt.SnapshotOptions{Scrollback: scrollback})
		})
		o.mu.Lock()
		done := s.done
		current := cols == int(o.size.Cols) && rows == int(o.size.Rows)
		snap.size, snap.nextEvent = o.size, o.events.next
		o.mu.Unlock()
		if current || done {
			return snap
		}
	}
}

// capture renders the screen as text, ansi or json.
func (s *screen) capture(options terminal.CaptureOptions) (c terminal.Capture, err error) {
	c.Offset = s.view(func(t *vt.Terminal) {
		cols, rows := t.Size()
		c.Size = terminal.Size{Cols: uint16(cols), Rows: uint16(rows)}
		c.Title = t.Title()
		c.Hash, c.Steady = recording.Hash(t, options.Rows), recording.Steady(t, options.Rows)
		c.Data, err = recording.Render(t, options)
	})
	return c, err
}

// spill keeps the screen's scrollback in a file instead of memory. The file is
// in the state directory but has no name, so that it ends with the owner. The
// first write creates it.
type spill struct {
	dir  state.Dir
	file *os.File
}

// WriteAt implements io.WriterAt. On an error, such as a full disk, the screen
// keeps the data in memory.
func (s *spill) WriteAt(p []byte, at int64) (int, error) {
	if err := fault.Error("spill/write"); err != nil {
		return 0, err
	}
	if s.file == nil {
		file, err := private.Unnamed(s.dir.Path, ".scrollback-*")
		if err != nil {
			return 0, err
		}
		s.file = file
	}
	return s.file.WriteAt(p, at)
}

func (s *spill) ReadAt(p []byte, at int64) (int, error) {
	if s.file == nil {
		return 0, io.EOF
	}
	return s.file.ReadAt(p, at)
}
