package viewer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/ptyowner/owner"
	"middleman/terminal"
	"middleman/terminal/vt"
)

// TestMain makes this test binary the owner of the sessions that it starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "pty-owner" {
		os.Exit(owner.Main(os.Args[2:], "test"))
	}
	goleak.VerifyTestMain(m)
}

// breaking is a session whose attachments break after a few messages each,
// as a connection does, while the session itself is untouched.
type breaking struct {
	terminal.Session
	joined int
}

func (b *breaking) Attach(ctx context.Context, o terminal.AttachOptions) (terminal.Attachment, error) {
	if b.joined++; b.joined%3 == 0 {
		return nil, fmt.Errorf("attach: %w", terminal.ErrUnreachable)
	}
	att, err := b.Session.Attach(ctx, o)
	return &breakingAttachment{att, 4}, err
}

type breakingAttachment struct {
	terminal.Attachment
	left int
}

func (b *breakingAttachment) Receive() (terminal.Message, error) {
	if b.left--; b.left < 0 {
		b.Close()
		return terminal.Message{}, fmt.Errorf("receive: %w", terminal.ErrUnreachable)
	}
	return b.Attachment.Receive()
}

// startSession starts a session that runs a script.
func startSession(t *testing.T, script string) terminal.Session {
	t.Helper()
	return startSized(t, terminal.DefaultSize, script)
}

func startSized(t *testing.T, size terminal.Size, script string) terminal.Session {
	t.Helper()
	home := testenv.ShortDir(t)
	backend := ptyowner.New(ptyowner.Options{Data: home, Sessions: home + "/sessions", Runtime: home + "/run"})
	spec := terminal.Spec{
		ID: terminal.NewID("s"), Argv: []string{"/bin/sh", "-c", script}, Env: os.Environ(),
		Dir: home, Size: size, Grace: time.Second,
	}
	if _, err := backend.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	s := backend.Session(spec.ID)
	t.Cleanup(func() {
		if err := s.Stop(context.Background(), -1); err != nil {
			t.Error(err)
		}
		backend.Wait()
	})
	return s
}

// What is drawn over many broken connections is the session's bytes, each
// once, and the program's exit is seen.
func TestRunOverBrokenConnections(t *testing.T) {
	s := startSession(t, "stty -echo; seq 1 100000; read x; exit 7")
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	var drawn bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() {
		// EIO at the end, when the slave is closed.
		io.Copy(writerFunc(func(p []byte) {
			had := bytes.Contains(drawn.Bytes(), []byte("\n100000\r\n"))
			drawn.Write(p)
			if !had && bytes.Contains(drawn.Bytes(), []byte("\n100000\r\n")) {
				s.Input(context.Background(), []byte("\r"))
			}
		}), master)
	})
	var said bytes.Buffer
	var zero uint64
	end, err := Run(t.Context(), slave, slave, &said, &breaking{Session: s}, Options{
		Mode: terminal.ModeAttach, From: &zero, Detach: 0x1c, DetachName: `ctrl-\`, Label: "w",
	})
	slave.Close()
	wg.Wait()
	if err != nil || end.Exit == nil || end.Exit.Code != 7 {
		t.Fatalf("got %+v, %v, want exit 7; said %q", end, err, said.String())
	}
	r, err := s.Output(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := bytes.Cut(drawn.Bytes(), []byte("\x1b"))
	if !bytes.Equal(got, want) {
		t.Errorf("drawn %d bytes, want %d", len(got), len(want))
	}
}

// resizing is a session whose joining viewer's terminal is resized meanwhile.
type resizing struct {
	terminal.Session
	master *os.File
}

func (r *resizing) Attach(ctx context.Context, o terminal.AttachOptions) (terminal.Attachment, error) {
	err := pty.Setsize(r.master, &pty.Winsize{Cols: 20, Rows: 10})
	// The terminal is not this process's own: the system would tell its alone.
	if err = errors.Join(err, unix.Kill(os.Getpid(), unix.SIGWINCH)); err != nil {
		return nil, err
	}
	return r.Session.Attach(ctx, o)
}

// A terminal that is resized while its viewer joins has the session's size.
func TestResizeWhileJoining(t *testing.T) {
	s := startSession(t, "until stty size | grep -q '^10 20$'; do sleep 0.01; done; exit 7")
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	var wg sync.WaitGroup
	wg.Go(func() { io.Copy(io.Discard, master) }) // EIO at the end
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	end, err := Run(ctx, slave, slave, io.Discard, &resizing{s, master}, Options{Mode: terminal.ModeAttach, Detach: 0x1c, Label: "w"})
	slave.Close()
	wg.Wait()
	if err != nil || end.Exit == nil || end.Exit.Code != 7 {
		t.Fatalf("got %+v, %v, want exit 7", end, err)
	}
}

// A watcher's terminal that is smaller than the session's shows a part of the
// screen, follows when either gets another size, and has its own screen back at
// the end.
func TestWatchInAnotherSize(t *testing.T) {
	const frame = `printf '\033[?1049h\033[2J\033[1;1Htop left\033[1;101Htop right\033[30;1Hbottom left\033[30;98Hbottom right\033[2;1H'; read x;
		printf '\033[19;70H[now]\033[2;1H'; read x; printf '\033[?1049lmain\r\n'; exit 7`
	s := startSized(t, terminal.Size{Cols: 110, Rows: 30}, frame)
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := pty.Setsize(master, &pty.Winsize{Cols: 80, Rows: 20}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // guards the next two
	shown := vt.New(vt.Options{Cols: 80, Rows: 20})
	drawn := sync.NewCond(&mu)
	var wg sync.WaitGroup
	wg.Go(func() {
		io.Copy(writerFunc(func(p []byte) { // EIO at the end, when the slave is closed
			mu.Lock()
			defer mu.Unlock()
			shown.Write(p)
			drawn.Broadcast()
		}), master)
	})
	shows := func(want, not string) {
		mu.Lock()
		defer mu.Unlock()
		for {
			text := shown.Text(vt.TextOptions{})
			if strings.Contains(text, want) && (not == "" || !strings.Contains(text, not)) {
				return
			}
			drawn.Wait() // without an end: the test's deadline tells where
		}
	}
	resize := func(cols, rows int) {
		mu.Lock()
		shown.Resize(cols, rows)
		mu.Unlock()
		err := pty.Setsize(master, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
		if err = errors.Join(err, unix.Kill(os.Getpid(), unix.SIGWINCH)); err != nil {
			t.Fatal(err)
		}
	}
	var end End
	viewing := make(chan error, 1)
	go func() {
		var err error
		end, err = Run(t.Context(), slave, slave, io.Discard, s, Options{Mode: terminal.ModeWatch, Detach: 0x1c, Label: "w"})
		viewing <- err
	}()
	shows("top left", "right")
	resize(120, 40) // larger than the session
	shows("bottom right", "")
	resize(80, 20)
	shows("top left", "right")
	if err := s.Input(t.Context(), []byte("\r")); err != nil {
		t.Fatal(err)
	}
	shows("[now]", "right")
	shows("110x30 of its last terminal, columns 1-80, rows 1-19", "right")
	master.WriteString("\x1b[B\x1b[B") // a watcher's arrows
	shows("bottom left", "top")
	if err := s.Input(t.Context(), []byte("\r")); err != nil {
		t.Fatal(err)
	}
	if err := <-viewing; err != nil || end.Exit == nil || end.Exit.Code != 7 {
		t.Errorf("got %+v, %v, want exit 7", end, err)
	}
	slave.Close()
	wg.Wait()
	if text := shown.Text(vt.TextOptions{}); shown.Alternate() || !strings.Contains(text, "main") || strings.Contains(text, "left") {
		t.Errorf("left behind: %q", text)
	}
}
