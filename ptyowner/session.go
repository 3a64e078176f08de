package ptyowner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"middleman/internal/private"
	"middleman/internal/sandbox/life"
	"middleman/ptyowner/state"
	"middleman/ptyowner/wire"
	"middleman/terminal"
	"middleman/terminal/journal"
	"middleman/terminal/recording"
	"middleman/terminal/vt"
)

// session implements terminal.Session: through the owner while there is one,
// and from the state directory afterwards.
type session struct {
	b       *Backend
	dir     state.Dir
	records state.Records // of dir
}

// look is what the state directory tells, without asking the owner.
type look struct {
	life   state.Life
	record state.Record
	hasRec bool
	exit   *terminal.Exit
}

// look reads the state directory. A file that exists but cannot be read or
// trusted is terminal.ErrUnreachable while an owner may live, so that no caller
// cleans the state.
func (s *session) look() (look, error) {
	for free := false; ; free = true {
		l, err := s.lookOnce()
		if err != nil || l.life != state.Dead || l.exit != nil || free {
			return l, err
		}
		// Nothing says how it ended: it may just be starting. If not, it may have
		// started since the look, so only another look proves that no owner lives.
		starting, err := s.dir.IsStarting()
		switch {
		case err != nil:
			return l, unreachable(s.dir.ID, "try lock", err)
		case starting:
			l.life = state.Starting
			return l, nil
		}
	}
}

// lookOnce is look, but it takes a session that starts for one whose owner is gone.
func (s *session) lookOnce() (l look, err error) {
	if err := s.checkThere(); err != nil {
		return l, err
	}
	// Read the exit last: if the lock is free, the owner that would have
	// written the exit is gone.
	if l.life, err = s.dir.Probe(); err != nil {
		return l, unreachable(s.dir.ID, "try lock", err)
	}
	l.record, err = s.records.Read(s.dir)
	l.hasRec = err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) && l.life == state.Alive {
		return l, unreachable(s.dir.ID, "find owner", err)
	}
	exit, ok, err := s.dir.ReadExit()
	if err != nil {
		return l, unreachable(s.dir.ID, "read exit", err)
	}
	if ok {
		l.exit = &exit
	}
	return l, nil
}

// provedDead reports whether look has proved that no owner lives, whatever is wrong with
// other files.
func provedDead(l look, err error) bool {
	return l.life == state.Dead && !errors.Is(err, terminal.ErrNotFound)
}

// findTime is how long connect retries while a session starts or ends.
const findTime = 2 * time.Second

// askEvery is how often connect asks an owner that it does not reach to bind its socket.
const askEvery = 200 * time.Millisecond

// connect connects to the owner. If the session has ended it returns a nil
// client and no error, and l holds the exit. The owner may start or end between
// look and dial, so connect looks again if an owner lives but does not listen, or
// is about to begin. If its socket was removed, the owner is asked to bind it again. The
// status of a session that starts needs no owner.
func (s *session) connect(ctx context.Context, hello wire.Hello) (*client, look, error) {
	isStatus := hello.Mode == wire.ModeControl && hello.Client == string(wire.VerbStatus)
	var asked time.Time
	for deadline := time.Now().Add(findTime); ; {
		l, err := s.look()
		if err != nil || l.life == state.Dead || l.life == state.Starting && isStatus {
			return nil, l, err
		}
		step := "find owner"
		if l.life == state.Starting {
			step = "find owner of a session that is being started"
		}
		err = unreachable(s.dir.ID, step, fmt.Errorf("%s: %w", s.dir.File(state.RecordFile), fs.ErrNotExist))
		if l.hasRec {
			var c *client
			if c, err = dial(ctx, s.dir.ID, l.record, hello); err == nil {
				return c, l, nil
			}
			if errors.Is(err, terminal.ErrUnreachable) && time.Since(asked) >= askEvery {
				askToBind(l.record)
				asked = time.Now()
			}
		}
		if !wentAway(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return nil, l, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// wentAway reports whether err is typical of an owner that does not listen yet
// or has just ended. It proves nothing, but it is worth a second look.
func wentAway(err error) bool {
	is := func(gone error) bool { return errors.Is(err, gone) }
	return slices.ContainsFunc([]error{fs.ErrNotExist, io.EOF, io.ErrUnexpectedEOF}, is) || slices.ContainsFunc(goneErrors, is)
}

// ask sends one request to the owner. asked is false if the session has ended;
// then l holds the exit. If the owner ends before it replies, ask looks for it
// once more. It does not repeat input, which the owner may have typed already.
func (s *session) ask(ctx context.Context, verb wire.Verb, args, result any) (part []byte, l look, asked bool, err error) {
	for first := true; ; first = false {
		c, l, err := s.connect(ctx, wire.Hello{Mode: wire.ModeControl, Client: string(verb)})
		if err != nil || c == nil {
			return nil, l, false, err
		}
		part, err := c.request(ctx, verb, args, result)
		if w, ok := result.(*wire.InputResult); ok && w.Offset == nil {
			w.Offset = &c.welcome.Head // of an owner that does not tell: the head before the typing
		}
		if w, ok := result.(*wire.Status); ok && err == nil && w.Exit != nil {
			_ = c.send(wire.AppendAck(nil, w.Exit.Offset)) // an owner that has ended needs no Ack
		}
		c.close()
		if err == nil || !wentAway(err) || !first {
			return part, l, true, err
		}
		if verb == wire.VerbInput {
			if now, lookErr := s.look(); lookErr == nil && (now.exit != nil || now.life == state.Dead) {
				return nil, now, false, nil
			}
			return nil, l, true, err
		}
	}
}

// Attach connects to the owner, or replays the state directory after it.
func (s *session) Attach(ctx context.Context, o terminal.AttachOptions) (terminal.Attachment, error) {
	hello := wire.Hello{
		Mode: wire.Mode(o.Mode), Client: o.Client, From: o.From, MaxLag: o.MaxLag, Scrollback: o.Scrollback,
		Takeover: o.Takeover, NoOutput: o.NoOutput, Activity: o.Activity && o.NoOutput, Reader: o.Reader,
	}
	if o.Size.Cols > 0 && o.Size.Rows > 0 {
		size := wire.Size(o.Size)
		hello.Size = &size
	}
	c, l, err := s.connect(ctx, hello)
	if c != nil && hello.Activity && !slices.Contains(c.welcome.Features, wire.FeatureActivity) {
		c.close()
		hello.NoOutput = false
		c, l, err = s.connect(ctx, hello)
	}
	switch {
	case err != nil:
		return nil, err
	case c != nil:
		return &attachment{c: c, s: s, mode: o.Mode, clipboard: l.record.Clipboard}, nil
	case l.exit == nil:
		return nil, fmt.Errorf("session %s: %w, without an exit record: %s", s.dir.ID, terminal.ErrGone, s.death(l.record))
	}
	return s.replayEnded(l, o)
}

// Input types p.
func (s *session) Input(ctx context.Context, p []byte) error {
	_, err := s.Type(ctx, p, terminal.Expect{})
	return err
}

// Type types p in parts of at most wire.MaxInput bytes, or at once where
// something is expected.
func (s *session) Type(ctx context.Context, p []byte, e terminal.Expect) (offset uint64, err error) {
	expect := wireExpect(e)
	most := terminal.MaxExpected
	if e.Held {
		most = terminal.MaxHeld
	}
	if expect != nil && len(p) > most {
		return 0, fmt.Errorf("type %d bytes at session %s: %w: at most %d bytes", len(p), s.dir.ID, terminal.ErrTooLong, most)
	}
	for first := true; ; first = false {
		part := p[:min(len(p), wire.MaxInput)]
		p = p[len(part):]
		var result wire.InputResult
		_, l, asked, err := s.ask(ctx, wire.VerbInput, wire.InputArgs{Data: part, Expect: expect}, &result)
		switch {
		case err != nil:
			return 0, err
		case !asked && l.exit == nil:
			return 0, fmt.Errorf("session %s: %w: its owner ended without an exit record", s.dir.ID, terminal.ErrGone)
		case !asked:
			return 0, fmt.Errorf("session %s: %w", s.dir.ID, terminal.ErrEnded)
		case first:
			offset = *result.Offset
		}
		if len(p) == 0 {
			return offset, nil
		}
	}
}

// wireExpect converts what is expected to its form on the wire, nil for nothing.
func wireExpect(e terminal.Expect) *wire.Expect {
	if e == (terminal.Expect{}) {
		return nil
	}
	// Rounded up: less than a millisecond is not nothing.
	idle := (e.Idle + time.Millisecond - 1) / time.Millisecond
	return &wire.Expect{Offset: e.Offset, Hash: e.Hash, Rows: wireRows(e.Rows), IdleMillis: int64(idle), Held: e.Held}
}

func wireRows(r terminal.Rows) *wire.Rows {
	if r == (terminal.Rows{}) {
		return nil
	}
	w := wire.Rows(r)
	return &w
}

// Capture asks the owner, or renders the last screen. For an earlier offset it
// renders the screen from the journal.
func (s *session) Capture(ctx context.Context, o terminal.CaptureOptions) (terminal.Capture, error) {
	c, err := s.capture(ctx, o)
	if err != nil || o.Format != terminal.FormatJSON {
		return c, err
	}
	object, ok := bytes.CutPrefix(c.Data, []byte("{"))
	if !ok || !json.Valid(c.Data) {
		return c, unreachable(s.dir.ID, "read owner's capture", errors.New("it is no JSON object"))
	}
	hash, err := json.Marshal(c.Hash)
	c.Data = fmt.Appendf(nil, `{"offset":%d,"hash":%s,%s`, c.Offset, hash, object)
	return c, err
}

func (s *session) capture(ctx context.Context, o terminal.CaptureOptions) (terminal.Capture, error) {
	if o.At != nil {
		return s.captureAt(ctx, *o.At, o)
	}
	var w wire.Capture
	args := wire.CaptureArgs{Format: string(o.Format), Scrollback: o.Scrollback, Rows: wireRows(o.Rows)}
	data, l, asked, err := s.ask(ctx, wire.VerbCapture, args, &w)
	if err != nil && (asked || !provedDead(l, err)) {
		return terminal.Capture{}, err
	}
	if !asked {
		return s.captureFromDisk(ctx, l, o)
	}
	return terminal.Capture{Offset: w.Offset, Size: terminal.Size(w.Size), Title: w.Title, Data: data, Hash: w.Hash, Steady: w.Steady}, nil
}

func (s *session) captureFromDisk(ctx context.Context, l look, o terminal.CaptureOptions) (c terminal.Capture, err error) {
	if l.exit == nil {
		return s.captureLost(ctx, o)
	}
	snapshot, err := private.ReadFile(s.dir.File(state.ScreenFile))
	if err != nil {
		return c, fmt.Errorf("read last screen of session %s: %w", s.dir.ID, err)
	}
	screen := lastScreen(snapshot, l.exit.Size)
	data, err := recording.Render(screen, o)
	return terminal.Capture{
		Offset: l.exit.Offset, Size: l.exit.Size, Title: l.exit.Title, Data: data, Hash: recording.Hash(screen, o.Rows),
	}, err
}

// lastScreen draws a snapshot on a new screen, for a session without an owner.
func lastScreen(snapshot []byte, size terminal.Size) *vt.Terminal {
	t := vt.New(vt.Options{Cols: int(size.Cols), Rows: int(size.Rows)})
	t.Write(snapshot)
	return t
}

// captureLost renders the screen as of the last output in the journal, for a
// session whose owner wrote no last screen.
func (s *session) captureLost(ctx context.Context, o terminal.CaptureOptions) (c terminal.Capture, err error) {
	r := journal.Open(s.dir.Journal())
	defer r.Close()
	_, head, err := r.Bounds()
	if err != nil {
		return c, fmt.Errorf("session %s: %w", s.dir.ID, err)
	}
	return s.captureAt(ctx, head, o)
}

// Output reads the journal. It asks the owner only for its head: output that a
// full disk kept out of the journal is a gap, not the end.
func (s *session) Output(ctx context.Context, from uint64) (io.ReadCloser, error) {
	l, err := s.look()
	if err != nil && !provedDead(l, err) {
		return nil, err
	}
	head := s.head(ctx, l)
	r := journal.Open(s.dir.Journal())
	oldest, kept, err := r.Bounds()
	head = max(head, kept)
	switch {
	case err != nil:
		return nil, err
	case from > head:
		return nil, fmt.Errorf("session %s has %d bytes of output, but output from offset %d was asked for: %w", s.dir.ID, head, from, terminal.ErrRange)
	case from < oldest:
		return nil, fmt.Errorf("session %s: %w", s.dir.ID, &terminal.TrimmedError{Offset: from, Oldest: oldest})
	}
	return journal.NewStream(r, from, head), nil
}

// headTime bounds the request for the owner's head. The journal can be read
// without it.
const headTime = time.Second

// head returns the session's head from the owner or the exit record. 0 means
// that only the journal tells, as when the owner does not answer.
func (s *session) head(ctx context.Context, l look) uint64 {
	if l.exit != nil {
		return l.exit.Offset
	}
	if l.life != state.Alive {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, headTime)
	defer cancel()
	c, l, err := s.connect(ctx, wire.Hello{Mode: wire.ModeControl, Client: "output"})
	switch {
	case err != nil:
		return 0
	case c != nil:
		defer c.close()
		return c.welcome.Head
	case l.exit != nil:
		return l.exit.Offset
	}
	return 0
}

// Stop asks the owner to end everything that it started. If the owner was
// killed, Stop ends the processes that it left.
func (s *session) Stop(ctx context.Context, grace time.Duration) error {
	var args wire.StopArgs
	if grace != 0 {
		ms := max(0, grace.Milliseconds())
		args.GraceMillis = &ms
	}
	var result wire.StopResult
	_, _, asked, err := s.ask(ctx, wire.VerbStop, args, &result)
	if err != nil {
		return s.stopPast(ctx, err, max(0, grace))
	}
	if !asked {
		return s.stopStrays(max(0, grace))
	}
	if len(result.Left) > 0 {
		return &terminal.LeftoverError{Session: s.dir.ID, PIDs: result.Left}
	}
	return nil
}

// removeTime is how long an owner may take to end after its session has ended.
// Its viewers have 2 s to receive their last frame.
const removeTime = 5 * time.Second

// stopStrays ends the processes that a killed owner left. It holds the lock
// meanwhile, so that no other owner can start.
func (s *session) stopStrays(grace time.Duration) error {
	l, release, err := s.dir.Hold()
	defer release()
	if err != nil {
		return unreachable(s.dir.ID, "try lock", err)
	}
	if l != state.Dead {
		return fmt.Errorf("stop session %s: it was started again meanwhile: %w", s.dir.ID, terminal.ErrRunning)
	}
	return s.dir.StopStrays(grace)
}

// stopPast ends the program of a session whose owner cannot be reached because
// its state directory, owner.json or socket is missing or damaged; cause is
// that error. It finds the program by its environment. The owner, if it lives,
// then records the exit and ends. stopPast returns cause if the owner did not
// answer in time, or if it finds no process.
func (s *session) stopPast(ctx context.Context, cause error, grace time.Duration) error {
	if terminal.CheckID(s.dir.ID) != nil || // other programs' environments may hold an empty id
		errors.Is(cause, os.ErrDeadlineExceeded) || errors.Is(cause, context.DeadlineExceeded) || ctx.Err() != nil ||
		!errors.Is(cause, terminal.ErrUnreachable) && !errors.Is(cause, terminal.ErrNotFound) {
		return cause
	}
	if err := s.dir.Check(s.b.o.Data); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cause // another directory is in its place
	}
	found, err := s.dir.Strays()
	if err != nil || len(found) == 0 {
		return cause
	}
	if err := s.dir.StopStrays(grace); err != nil {
		return err
	}
	for deadline := time.Now().Add(findTime); time.Now().Before(deadline); {
		if life, err := s.dir.Probe(); err != nil || life == state.Dead {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// Remove deletes the state directory once the lock is proved free. An owner
// that lingers after the exit is told that the exit is known. What lives in the sandbox
// of a killed owner is ended: without the state directory nobody would find it.
func (s *session) Remove(ctx context.Context) error {
	for deadline := time.Now().Add(removeTime); ; {
		l, err := s.look()
		if provedDead(l, err) {
			break
		}
		if err != nil {
			return err
		}
		if l.exit == nil || time.Now().After(deadline) {
			return fmt.Errorf("remove session %s: %w", s.dir.ID, terminal.ErrRunning)
		}
		if err := s.Stop(ctx, -1); err != nil && !errors.Is(err, terminal.ErrUnreachable) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	if inside, err := life.Held(s.dir.Path); err != nil || inside {
		if err := errors.Join(err, s.stopStrays(0)); err != nil {
			return fmt.Errorf("remove session %s: %w", s.dir.ID, err)
		}
	}
	// The host of an ended session ends soon.
	s.dir.AwaitHostEnd(removeTime)
	if l, err := s.dir.ReadRecord(); err == nil && l.Socket != s.dir.File(state.SocketFile) {
		os.Remove(l.Socket) // usually gone with its owner
	}
	s.b.unlinkAgent(s.dir)
	if err := private.RemoveAll(s.dir.Path); err != nil {
		return fmt.Errorf("remove session %s: %w", s.dir.ID, err)
	}
	return nil
}
