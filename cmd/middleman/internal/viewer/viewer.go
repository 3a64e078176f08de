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

	errDetached = errors.New("detached")                // by the user
	errSwitch   = errors.New("the user wants the list") // of sessions
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
	// Switch lets the user go to another session; nil means that there is no
	// switch key and no request. There is none if From is set.
	Switch *Switch
	// Label is the user's name for the session.
	Label string
	// Patience is how long a session that does not answer is tried again; 0 means
	// five seconds.
	Patience time.Duration
	// Ahead is what was typed before, of which nothing is interpreted yet.
	Ahead []byte
	// Leave, unless nil, has what detaches without a key, also before the viewer has the
	// terminal.
	Leave <-chan struct{}
	// Joined, unless nil, is called whenever the session was joined, before
	// anything is drawn; also when the user comes back from the list of sessions.
	Joined func()
	// Aside, unless nil, has sequences that are not of the session, such as a
	// bell. They are written between those of the program.
	Aside <-chan string
	// Left, unless nil, is called whenever the session was left after that.
	Left func()
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
// with the terminal restored. If the user switches, it goes on with another
// session. It writes to errs how to detach and how the viewing ended. If ctx ends
// it disconnects and returns ctx's error.
func Run(ctx context.Context, in, out *os.File, errs io.Writer, s terminal.Session, o Options) (End, error) {
	ctx, stopSignals := signal.NotifyContext(ctx, hangup)
	defer stopSignals()
	resized := make(chan os.Signal, 1) // subscribe before the size is read
	notifyResize(resized)
	defer signal.Stop(resized)
	v := newViewer(in, out, s, o)
	v.unread = o.Ahead
	v.before = pushTitle + scrollAway(int(Size(out, in).Rows))
	if err := v.join(ctx, o.From); err != nil {
		return End{}, fmt.Errorf("%w: %w", ErrNotAttached, err)
	}
	v.arrived()
	restoreMode, err := rawMode(in)
	if err != nil {
		v.gone(nil)
		return End{}, fmt.Errorf("%w: %w", ErrNotAttached, errors.Join(err, v.attachment().Close()))
	}
	select {
	case <-o.Leave: // after what was typed before
		v.unread = append(v.unread, o.Detach)
	default:
	}
	fmt.Fprintf(errs, "%s\r\n", v.help())
	end, err := v.show(ctx, resized)
	wanted := v.clipboard.wanted
	for errors.Is(err, errSwitch) {
		if v, err = v.change(ctx, resized); err == nil {
			end, err = v.show(ctx, resized)
			wanted = cmp.Or(v.clipboard.wanted, wanted)
		}
	}
	if errors.Is(err, errDetached) {
		err = nil
	}
	end.Wanted = wanted
	last := v.screen.restore()
	if o.From == nil {
		last = popTitle + last
	}
	_, writeErr := io.WriteString(out, last)
	err = errors.Join(err, writeErr, restoreMode())
	v.say(errs, end, err)
	return end, err
}

// newViewer returns a viewer that has not joined s yet.
func newViewer(in, out *os.File, s terminal.Session, o Options) *viewer {
	o.Label = plaintext.Line(o.Label)
	v := &viewer{in: in, out: out, session: s, o: o, scrollback: o.Scrollback, screen: newScreenTracker(), find: keyFinder{detach: o.Detach}, clipboard: newClipboardFilter(terminal.ClipboardDeny)}
	if o.Switch != nil && o.From == nil {
		v.find.change = o.Switch.Key
	}
	v.loan.back, v.keyBuf = make(chan keysRead, 1), make([]byte, keyChunk)
	return v
}

// arrived does what follows a join.
func (v *viewer) arrived() {
	if v.o.Joined != nil {
		v.o.Joined()
	}
	policy := cmp.Or(v.o.Clipboard, terminal.ClipboardDeny)
	v.clipboard = newClipboardFilter(policy.Stricter(v.attachment().Hello().Clipboard))
	v.clipboard.label = v.o.Label
}

// gone does what follows the end of a viewing, which ended with err.
func (v *viewer) gone(err error) {
	if v.o.Left != nil {
		v.o.Left()
	}
	if v.asked != nil && !errors.Is(err, errSwitch) {
		v.asked.Answer(fmt.Errorf("the terminal that shows %s left it", v.o.Label))
	}
}

// help tells which keys are ours.
func (v *viewer) help() string {
	if v.find.change == 0 {
		return "detach with " + v.o.DetachName
	}
	return fmt.Sprintf("detach with %s, other sessions with %s", v.o.DetachName, v.o.Switch.Name)
}

// say tells the user how the viewing ended, and how to come back.
func (v *viewer) say(errs io.Writer, end End, err error) {
	switch {
	case err != nil: // the caller reports it
	case end.Exit == nil:
		fmt.Fprintf(errs, "[%s goes on; come back with: middleman attach %s]\n", v.o.Label, v.o.Label)
	case end.Exit.Stopped:
		fmt.Fprintf(errs, "[%s was stopped (%s)]\n", v.o.Label, end.Exit.How())
	case end.Exit.Signal != 0:
		fmt.Fprintf(errs, "[%s was ended by %s]\n", v.o.Label, end.Exit.How())
	default:
		fmt.Fprintf(errs, "[%s exited with %d]\n", v.o.Label, end.Exit.Code)
	}
}

// viewer shows one session, until the user leaves it.
type viewer struct {
	in, out    *os.File
	session    terminal.Session
	o          Options
	before     string // written before the screen of the session
	scrollback int    // how many past lines join asks for

	// Everything down to acked belongs to Run's goroutine.
	screen    *screenTracker
	window    *window // nil if bytes go to out unchanged
	clipboard *clipboardFilter
	replay    *replayFilter // nil once the replay is drawn
	head      uint64        // offset where the replay ends
	offset    uint64        // offset of the next byte to draw
	acked     uint64

	// mu guards att, which rejoin replaces, and joined, which it closes then.
	mu     sync.Mutex
	att    terminal.Attachment
	joined chan struct{}

	outMu sync.Mutex // guards aside, and screen while output is drawn
	aside string     // sequences to write when the program's output is between two of its own

	waiting atomic.Int32 // queued keys and pastes that typeKeys has not typed yet

	keys    *keyboard
	loan    loan
	asked   *Request // what ended the viewing, if that was a request
	refused int      // requests that the user has refused, one after the other

	first  []byte // keys for the program that were typed before this viewing
	unread []byte // keys that were read before it, and may be our own
	keyBuf []byte // unread, keyBuf and find belong to the goroutine that reads keys; receive while they are lent
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
		From: from, Scrollback: v.scrollback, Takeover: v.o.Takeover, MaxLag: maxLag,
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
		v.window.writer = hello.Writer != nil
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
	defer v.mu.Unlock()
	v.att = att
	if v.joined != nil {
		close(v.joined)
	}
	v.joined = make(chan struct{})
	return nil
}

// show is run, and what follows it.
func (v *viewer) show(ctx context.Context, resized <-chan os.Signal) (End, error) {
	end, err := v.run(ctx, resized)
	v.gone(err)
	return end, err
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
	if len(v.first) > 0 && v.o.Mode == terminal.ModeAttach {
		v.waiting.Add(1)
		typed <- v.first
	}

	var wg sync.WaitGroup
	wg.Go(func() { cancel(v.readKeyboard(ctx, typed)) })
	wg.Go(func() { v.typeKeys(ctx, typed) })
	wg.Go(func() { v.followSize(ctx, resized) })
	wg.Go(func() { v.awaitRequest(ctx, cancel) })
	wg.Go(func() { v.takeAsides(ctx) })
	wg.Go(func() {
		select {
		case <-v.o.Leave:
			cancel(errDetached)
		case <-ctx.Done():
		}
	})
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

// readKeyboard reads keys until one of our own. It types them, or queues for
// typeKeys those that would have to wait.
func (v *viewer) readKeyboard(ctx context.Context, typed chan<- []byte) error {
	defer close(typed)
	for {
		before, own, err := v.nextKeys()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDisconnected, err)
		}
		if v.o.Mode == terminal.ModeWatch {
			if bytes.ContainsAny(before, leaveWatch) {
				own = detachKey
			}
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
		switch own {
		case detachKey:
			return errDetached
		case switchKey:
			return errSwitch
		}
	}
}

// nextKeys waits for keys, and returns which key of our own follows them.
func (v *viewer) nextKeys() (before []byte, own ownKey, err error) {
	if p := v.unread; len(p) > 0 {
		v.unread = nil
		before, own = v.find.find(p)
		return before, own, nil
	}
	timeout := keyWait
	if len(v.find.held) == 0 {
		if timeout = -1; v.lendKeys() {
			if back := <-v.loan.back; back.has {
				return back.before, back.own, nil
			}
		}
	}
	n, err := v.keys.read(v.keyBuf, timeout)
	if err != nil || n > 0 {
		before, own = v.find.find(v.keyBuf[:n])
		return before, own, err
	}
	return v.find.flush(), noKey, nil
}

// typeNow types p if that does not block, and reports whether it did.
func (v *viewer) typeNow(p []byte) bool {
	a, ok := v.attachment().(terminal.PromptAttachment)
	return ok && v.waiting.Load() == 0 && a.InputNow(p)
}

// typeKeys types the queued keys. Those that a broken attachment does not take are typed at
// the one that takes its place, so that no line reaches the program with a hole in it. Keys
// that were on their way are not typed again: twice would be worse.
func (v *viewer) typeKeys(ctx context.Context, typed <-chan []byte) {
	for p := range typed {
		for a := v.attachment(); a.Input(p) != nil && v.awaitOther(ctx, a); a = v.attachment() {
		}
		v.waiting.Add(-1)
	}
}

// awaitOther blocks until another attachment is in the place of a, or returns false when
// ctx has ended.
func (v *viewer) awaitOther(ctx context.Context, a terminal.Attachment) bool {
	for {
		v.mu.Lock()
		now, joined := v.att, v.joined
		v.mu.Unlock()
		if now != a {
			return true
		}
		select {
		case <-joined:
		case <-ctx.Done():
			return false
		}
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
