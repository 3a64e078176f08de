//go:build unix

package ws_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"middleman/internal/proc"
	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/terminal"
)

// start runs a shell script as a session of a real owner.
func start(t testing.TB, script string) terminal.Session {
	t.Helper()
	home := testenv.Home(t)
	b := ptyowner.New(ptyowner.Options{Data: home, Sessions: filepath.Join(home, "sessions"), Runtime: filepath.Join(home, "run")})
	id := terminal.NewID("s")
	_, err := b.Start(context.Background(), terminal.Spec{
		ID: id, Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C"},
		Dir: "/", Size: terminal.DefaultSize, Grace: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := b.Session(id)
	t.Cleanup(func() {
		// An owner that is leaving need not answer, which proves nothing: ask
		// again.
		testenv.Eventually(t, patience, "the session is stopped", func() bool {
			err := s.Stop(context.Background(), -1)
			if err != nil && !errors.Is(err, terminal.ErrUnreachable) {
				t.Fatalf("stop: %v", err)
			}
			return err == nil
		})
		if err := s.Remove(context.Background()); err != nil {
			t.Errorf("remove: %v", err)
		}
		b.Wait()
	})
	return s
}

func contains(s string) func([]byte) bool {
	return func(p []byte) bool { return bytes.Contains(p, []byte(s)) }
}

func TestOwnerTypesAndExits(t *testing.T) {
	t.Parallel()
	srv := serve(t, start(t, `stty -echo; echo ready; read x; echo "got $x"; exit 7`), nil)
	c := join(t, srv, "from=0&cols=100&rows=30")
	if c.hello.Mode != terminal.ModeAttach || c.hello.Offset != 0 {
		t.Errorf("hello %+v", c.hello)
	}
	c.output(contains("ready"))
	c.input([]byte("abc\n"))
	got, last := c.output(nil)
	if !bytes.Contains(got, []byte("got abc")) {
		t.Errorf("output %q", got)
	}
	if last.Type != "exit" || string(last.Code) != "7" || last.Offset != c.offset {
		t.Errorf("last message %+v at offset %d", last, c.offset)
	}
	if status := c.closed(); status != websocket.StatusNormalClosure {
		t.Errorf("closed with %v", status)
	}
	if err := srv.served(t); err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestOwnerResumesByOffset(t *testing.T) {
	t.Parallel()
	// 3 MiB of numbered lines, watched in pieces by clients that break off.
	s := start(t, `stty -opost; read go; i=0; while [ $i -lt 60 ]; do seq -f "$i %040.0f" 1 1100; i=$((i+1)); done; exit 0`)
	srv := serve(t, s, nil)
	if err := s.Input(context.Background(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for last := ""; last != "exit"; {
		c := join(t, srv, fmt.Sprintf("mode=watch&max_lag=0&from=%d", len(got)))
		if c.offset != uint64(len(got)) {
			t.Fatalf("resumed at %d, asked for %d", c.offset, len(got))
		}
		piece := 1 + rand.IntN(600_000)
		p, m := c.output(func(p []byte) bool { return len(p) >= piece })
		got, last = append(got, p...), m.Type
		c.conn.CloseNow()
	}
	var want bytes.Buffer
	want.WriteString("\r\n") // the echo of what was typed
	for i := range 60 {
		for n := 1; n <= 1100; n++ {
			fmt.Fprintf(&want, "%d %040d\n", i, n)
		}
	}
	if !bytes.Equal(trimEcho(got), trimEcho(want.Bytes())) {
		t.Errorf("got %d bytes, want %d, and they differ", len(got), want.Len())
	}
}

// trimEcho takes the echoed newline off, which stty may have come before.
func trimEcho(p []byte) []byte { return bytes.TrimLeft(p, "\r\n") }

func TestOwnerPasteOfAnySize(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	s := start(t, fmt.Sprintf(`stty raw -echo; echo ready; head -c %d | cksum; exit 0`, size))
	srv := serve(t, s, nil)
	c := join(t, srv, "from=0")
	c.output(contains("ready"))
	paste := make([]byte, size)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(paste)
	for at := 0; at < size; at += 64 << 10 {
		c.input(paste[at : at+64<<10])
	}
	got, last := c.output(nil)
	if want := fmt.Sprintf("%d %d", cksum(paste), size); !bytes.Contains(got, []byte(want)) || last.Type != "exit" {
		t.Errorf("output %q, want %q", got, want)
	}
}

// cksum is the CRC of cksum(1), POSIX.
func cksum(p []byte) uint32 {
	var crc uint32
	step := func(b byte) {
		crc ^= uint32(b) << 24
		for range 8 {
			if crc&(1<<31) != 0 {
				crc = crc<<1 ^ 0x04c11db7
			} else {
				crc <<= 1
			}
		}
	}
	for _, b := range p {
		step(b)
	}
	for n := len(p); n > 0; n >>= 8 {
		step(byte(n))
	}
	return ^crc
}

func TestOwnerTypesWhatCameBeforeTheClientLeft(t *testing.T) {
	t.Parallel()
	s := start(t, `stty -echo; echo ready; read x; echo "got $x"; exit 3`)
	c := join(t, serve(t, s, nil), "from=0")
	c.output(contains("ready"))
	c.input([]byte("last words\n"))
	c.conn.Close(websocket.StatusNormalClosure, "")
	w := join(t, serve(t, s, nil), "mode=watch&from=0")
	if got, last := w.output(nil); !bytes.Contains(got, []byte("got last words")) || string(last.Code) != "3" {
		t.Errorf("output %q, then %+v", got, last)
	}
}

func TestOwnerSecondWriter(t *testing.T) {
	t.Parallel()
	srv := serve(t, start(t, `echo ready; sleep 60`), nil)
	first := join(t, srv, "")
	refused := dial(t, srv, "")
	m, _ := refused.next()
	if m.Type != "error" || string(m.Code) != `"writer-busy"` || m.Writer == nil || m.Writer.Client != "web" {
		t.Fatalf("second writer got %+v", m)
	}
	if status := refused.closed(); status != websocket.StatusPolicyViolation {
		t.Errorf("closed with %v", status)
	}
	var busy *terminal.BusyError
	if err := srv.served(t); !errors.As(err, &busy) {
		t.Errorf("Serve: %v", err)
	}
	join(t, srv, "takeover=1")
	if m := first.nextOf("detached"); m.Reason != terminal.DetachTakeover {
		t.Errorf("displaced with %+v", m)
	}
	if status := first.closed(); status != websocket.StatusNormalClosure {
		t.Errorf("closed with %v", status)
	}
}

func TestOwnerResize(t *testing.T) {
	t.Parallel()
	srv := serve(t, start(t, `trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done`), nil)
	c := join(t, srv, "from=0&cols=80&rows=24")
	c.output(contains("ready"))
	c.sendText(map[string]any{"type": "resize", "cols": 101, "rows": 33})
	c.output(contains("33 101"))
}

func TestOwnerSnapshot(t *testing.T) {
	t.Parallel()
	s := start(t, `echo "on the screen"; sleep 60`)
	w := join(t, serve(t, s, nil), "mode=watch&from=0")
	w.output(contains("on the screen"))
	c := join(t, serve(t, s, nil), "")
	m, _ := c.next()
	if m.Type != "snapshot" || m.Offset != c.hello.Offset {
		t.Fatalf("got %+v, want a snapshot at %d", m, c.hello.Offset)
	}
	if _, data := c.next(); !bytes.Contains(data, []byte("on the screen")) {
		t.Errorf("snapshot %q", data)
	}
}

func TestOwnerOffsetBeyondTheHead(t *testing.T) {
	t.Parallel()
	c := join(t, serve(t, start(t, `sleep 60`), nil), "from=123456789")
	if m, _ := c.next(); m.Type != "snapshot" {
		t.Errorf("got %+v, want a snapshot", m)
	}
}

// A session that ended without an exit record shows what is kept of it, and then why it has
// ended. What its owner was killed in the middle of is not told as an exit.
func TestOwnerThatWasKilled(t *testing.T) {
	t.Parallel()
	s := start(t, `seq 100; printf '\033[1mREADY\033[m'; exec sleep 1000`)
	testenv.Eventually(t, patience, "the screen is drawn", func() bool {
		screen, err := s.Capture(t.Context(), terminal.CaptureOptions{Format: terminal.FormatText})
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(screen.Data, []byte("READY"))
	})
	status, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(proc.Parent(status.PID), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, patience, "its end is known", func() bool {
		status, err := s.Status(t.Context())
		return err == nil && status.State == terminal.StateLost
	})
	for _, query := range []string{"from=0&cols=100&rows=30", "mode=watch"} {
		c := join(t, serve(t, s, nil), query)
		m, _ := c.next()
		if _, data := c.next(); m.Type != "snapshot" || !bytes.Contains(data, []byte("\r\n99\r\n100\r\n")) || !bytes.Contains(data, []byte("J1\r\n2\r\n")) || !bytes.Contains(data, []byte("READY")) {
			t.Errorf("%s: %+v, %q", query, m, data)
		}
		if m, _ := c.next(); m.Type != "error" || string(m.Code) != `"ended"` || m.Message != "session is gone" {
			t.Errorf("%s: %+v", query, m)
		}
		if status := c.closed(); status != websocket.StatusPolicyViolation {
			t.Errorf("%s: closed with %v", query, status)
		}
	}
}
