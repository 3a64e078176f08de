package viewer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"middleman/internal/plaintext"
	"middleman/terminal"
)

// Errors of Run; test with errors.Is.
var (
	// ErrNotAttached: the session was never joined.
	ErrNotAttached = errors.New("could not attach")
	// ErrDisconnected: the viewing ended, and not because the user detached.
	// The session may still run.
	ErrDisconnected = errors.New("disconnected")

	errDetached = errors.New("detached") // by the user
)

const (
	// maxLag is how many bytes behind a viewer still gets the bytes. Beyond it
	// a snapshot is quicker.
	maxLag = 1 << 20
	// reconnectFor is how long rejoin tries to reach a session that does not
	// answer.
	reconnectFor   = 5 * time.Second
	reconnectEvery = 100 * time.Millisecond
	// keyWait is how long the rest of a key's sequence may take.
	keyWait = 20 * time.Millisecond
	// ackEvery is how many bytes are drawn between two acknowledgements.
	ackEvery = 64 << 10
	// queued is how many reads, of up to keyChunk bytes each, wait for a
	// program that does not read. When the queue is full no more keys are read,
	// not even the detach key.
	queued   = 256
	keyChunk = 4 << 10
	// leaveWatch are keys that also end watching.
	leaveWatch = "q\x03"
)

// Options say how to join a session.
type Options struct {
	Mode     terminal.Mode
	From     *uint64 // as in terminal.AttachOptions
	Takeover bool
	// Scrollback is how many past lines are drawn first.
	Scrollback int
	// Clipboard says whether the program may set the terminal's clipboard, if
	// the session allows it; "" means terminal.ClipboardDeny.
	Clipboard terminal.Clipboard
	// Detach is the byte of the detach key, DetachName its name for the user.
	Detach     byte
	DetachName string
	// Label is the user's name for the session.
	Label string
	// Joined, unless nil, is called once the session was joined, before anything
	// is drawn.
	Joined func()
}

// End says how a viewing ended without an error: Exit is the program's, or nil
// if the user detached.
type End struct {
	Exit *terminal.Exit
	// Wanted is a text for the clipboard that the user must agree to, or nil.
	// It may be set together with an error.
	Wanted *Wanted
}

// Run joins s with the terminal in and out, and returns when the viewing ends,
// with the terminal restored. It writes to errs how to detach and how the
// viewing ended. If ctx ends it disconnects and returns ctx's error.
func Run(ctx context.Context, in, out *os.File, errs io.Writer, s terminal.Session, o Options) (End, error) {
	o.Label = plaintext.Line(o.Label)
	v := &viewer{in: in, out: out, session: s, o: o, screen: newScreenTracker(), find: keyFinder{control: o.Detach}}
	v.loan.back, v.keyBuf = make(chan keysRead, 1), make([]byte, keyChunk)
	ctx, stopSignals := signal.NotifyContext(ctx, hangup)
	defer stopSignals()
	resized := make(chan os.Signal, 1) // subscribe before the size is read
	notifyResize(resized)
	defer signal.Stop(resized)
	if err := v.join(ctx, o.From); err != nil {
		return End{}, fmt.Errorf("%w: %w", ErrNotAttached, err)
	}
	if o.Joined != nil {
		o.Joined()
	}
	policy := cmp.Or(o.Clipboard, terminal.ClipboardDeny)
	v.clipboard = newClipboardFilter(policy.Stricter(v.attachment().Hello().Clipboard))
	restoreMode, err := rawMode(in)
	if err != nil {
		return End{}, fmt.Errorf("%w: %w", ErrNotAttached, errors.Join(err, v.attachment().Close()))
	}
	fmt.Fprintf(errs, "detach with %s\r\n", o.DetachName)
	end, err := v.run(ctx, resized)
	end.Wanted = v.clipboard.wanted
	last := v.screen.restore()
	if o.From == nil {
		last = popTitle + last
	}
	_, writeErr := io.WriteString(out, last)
	err = errors.Join(err, writeErr, restoreMode())
	v.say(errs, end, err)
	return end, err
}

// say tells the user how the viewing ended, and how to come back.
func (v *viewer) say(errs io.Writer, end End, err error) {
	switch {
	case err != nil: // the caller reports it
	case end.Exit == nil:
		fmt.Fprintf(errs, "[%s goes on; come back with: middleman attach %s]\n", v.o.Label, v.o.Label)
	case end.Exit.Signal != 0:
		fmt.Fprintf(errs, "[%s was ended by %s]\n", v.o.Label, end.Exit.SignalName)
	default:
		fmt.Fprintf(errs, "[%s exited with %d]\n", v.o.Label, end.Exit.Code)
	}
}

// viewer is one viewing of a session.
type viewer struct {
	in, out *os.File
	session terminal.Session
	o       Options

	// Everything down to acked belongs to Run's goroutine.
	screen    *screenTracker
	window    *window // nil if bytes go to out unchanged
	clipboard *clipboardFilter
	replay    *replayFilter // nil once the replay is drawn
	head      uint64        // offset where the replay ends
	offset    uint64        // offset of the next byte to draw
	acked     uint64

	// mu guards att, which rejoin replaces.
	mu  sync.Mutex
	att terminal.Attachment

	waiting atomic.Int32 // queued keys and pastes that typeKeys has not typed yet

	keys   *keyboard
	loan   loan
	keyBuf []byte // keyBuf and find belong to the goroutine that reads keys; receive while they are lent
	find   keyFinder
}

func (v *viewer) attachment() terminal.Attachment {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.att
}

// join attaches, for the first time or again.
func (v *viewer) join(ctx context.Context, from *uint64) error {
	o := terminal.AttachOptions{
		Mode: v.o.Mode, Client: "attach", Size: Size(v.out, v.in),
		From: from, Scrollback: v.o.Scrollback, Takeover: v.o.Takeover, MaxLag: maxLag,
	}
	if v.o.From != nil {
		o.MaxLag = 0 // a user who names an offset wants every byte
	}
	att, err := v.session.Attach(ctx, o)
	if err != nil {
		return err
	}
	hello := att.Hello()
	v.offset, v.head, v.replay = hello.Offset, hello.Head, nil
	v.acked = v.offset
	switch {
	case v.window != nil:
		v.window.resizeSession(hello.Size) // the next write returns the error
	case v.o.Mode == terminal.ModeWatch && v.o.From == nil:
		v.window = newWindow(v.out, v.screen, o.Size, hello.Size)
	}
	switch {
	case hello.HostAnswers:
		v.head, v.replay = math.MaxUint64, newHostFilter() // filter all output
	case v.offset < v.head:
		v.replay = newReplayFilter()
	}
	if lone, ok := att.(terminal.LoneAttachment); ok {
		_ = lone.Alone() // if it fails, Receive still works
	}
	v.mu.Lock()
	v.att = att
	v.mu.Unlock()
	return nil
}

// run starts the loops, receives until the end, and joins them.
func (v *viewer) run(ctx context.Context, resized <-chan os.Signal) (End, error) {
	keys, err := newKeyboard(v.in)
	if err != nil {
		return End{}, errors.Join(err, v.attachment().Close())
	}
	defer keys.close()
	v.keys = keys
	if err := v.begin(); err != nil {
		return End{}, fmt.Errorf("%w: draw: %w", ErrDisconnected, errors.Join(err, v.attachment().Close()))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	typed := make(chan []byte, queued)

	var wg sync.WaitGroup
	wg.Go(func() { cancel(v.readKeyboard(ctx, typed)) })
	wg.Go(func() { v.typeKeys(typed) })
	wg.Go(func() { v.followSize(ctx, resized) })
	wg.Go(func() {
		<-ctx.Done()
		keys.wake()
		v.attachment().Close()
	})
	end, err := v.receive(ctx)
	cancel(nil)
	v.loan.end()
	wg.Wait()
	if v.window == nil {
		return end, err
	}
	if last := v.window.finish(); last != nil && err == nil {
		err = fmt.Errorf("%w: draw: %w", ErrDisconnected, last)
	}
	return end, err
}

// readKeyboard reads keys until the detach key. It types them, or queues for
// typeKeys those that would have to wait.
func (v *viewer) readKeyboard(ctx context.Context, typed chan<- []byte) error {
	defer close(typed)
	for {
		before, detach, err := v.nextKeys()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDisconnected, err)
		}
		if v.o.Mode == terminal.ModeWatch {
			detach = detach || bytes.ContainsAny(before, leaveWatch)
			if v.window != nil {
				v.window.keys(before)
			}
		} else if len(before) > 0 && !v.typeNow(before) {
			v.waiting.Add(1)
			select {
			case typed <- bytes.Clone(before):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if detach {
			return errDetached
		}
	}
}

// nextKeys waits for keys, and reports whether the detach key follows them.
func (v *viewer) nextKeys() (before []byte, detach bool, err error) {
	timeout := keyWait
	if len(v.find.held) == 0 {
		if timeout = -1; v.lendKeys() {
			if back := <-v.loan.back; back.has {
				return back.before, back.detach, nil
			}
		}
	}
	n, err := v.keys.read(v.keyBuf, timeout)
	if err != nil || n > 0 {
		before, detach = v.find.find(v.keyBuf[:n])
		return before, detach, err
	}
	return v.find.flush(), false, nil
}

// typeNow types p if that does not block, and reports whether it did.
func (v *viewer) typeNow(p []byte) bool {
	a, ok := v.attachment().(terminal.PromptAttachment)
	return ok && v.waiting.Load() == 0 && a.InputNow(p)
}

// typeKeys types the queued keys. If the attachment breaks they are dropped:
// they may have arrived, and typing them twice would be worse.
func (v *viewer) typeKeys(typed <-chan []byte) {
	for p := range typed {
		v.attachment().Input(p) // receive gets the same error
		v.waiting.Add(-1)
	}
}

// followSize passes on the terminal's size whenever it changes.
func (v *viewer) followSize(ctx context.Context, resized <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-resized:
			switch size := Size(v.out, v.in); {
			case v.o.Mode == terminal.ModeAttach:
				v.attachment().Resize(size) // receive gets the same error
			case v.window != nil:
				v.window.resizeTerminal(size) // the next write returns the error
			}
		}
	}
}
