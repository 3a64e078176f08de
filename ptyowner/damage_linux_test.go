package ptyowner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/terminal"
)

// damages returns a file's content cut off at every length, and with single
// bits flipped.
func damages(content []byte, flips int) [][]byte {
	var out [][]byte
	for n := range len(content) - 1 { // without the last newline it is whole
		out = append(out, content[:n])
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range flips {
		c := bytes.Clone(content)
		c[rng.IntN(len(c))] ^= 1 << rng.IntN(8)
		out = append(out, c)
	}
	return out
}

func flips() int {
	if testing.Short() {
		return 20
	}
	return 100
}

// Whatever the record of a live session holds, it is never taken for an end:
// it is reached, or it is not, nothing is removed, and no process signalled.
func TestDamagedRecordOfALiveSession(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("exec sleep 1000")
	before := start(t, b, s, nil)
	path := filepath.Join(data, "sessions", s.ID, "owner.json")
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, content := range damages(was, flips()) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		status, err := b.Session(s.ID).Status(ctx)
		cancel()
		cut := i < len(was)-1
		if cut && (!errors.Is(err, terminal.ErrUnreachable) || !strings.Contains(err.Error(), path)) {
			t.Errorf("cut after %d bytes: %+v, %v: want unreachable for %s", i, status, err, path)
		}
		if err == nil && (status.State != terminal.StateRunning || status.PID != before.PID) || errors.Is(err, terminal.ErrGone) || errors.Is(err, terminal.ErrNotFound) {
			t.Errorf("%q: %+v, %v", content, status, err)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("not one line: %q", err)
		}
	}
	if err := os.WriteFile(path, was[:len(was)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Session(s.ID).Remove(context.Background()); err == nil {
		t.Error("removed")
	}
	if _, err := b.Start(context.Background(), s); err == nil {
		t.Error("started beside a live owner that cannot be found")
	}
	if err := os.WriteFile(path, was, 0o600); err != nil {
		t.Fatal(err)
	}
	if after, err := b.Session(s.ID).Status(context.Background()); err != nil || after.PID != before.PID {
		t.Errorf("mended: %+v, %v", after, err)
	}
}

// endedSession is a session that has printed lines and exited with 7.
func endedSession(t *testing.T, b *ptyowner.Backend) (s terminal.Spec, text string) {
	t.Helper()
	s = spec("stty -opost; i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); done; exit 7")
	start(t, b, s, nil)
	session := b.Session(s.ID)
	testenv.Eventually(t, time.Minute, "the exit", func() bool {
		status, err := session.Status(context.Background())
		return err == nil && status.State == terminal.StateExited
	})
	b.Wait()
	out, err := session.Output(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	all, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	return s, string(all)
}

// A damaged exit record is an error that names it, never lost and never
// running; its output can be read and its session removed, because it is proved dead.
func TestDamagedExitRecord(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s, printed := endedSession(t, b)
	session := b.Session(s.ID)
	path := filepath.Join(data, "sessions", s.ID, "exit.json")
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	contents := append(damages(was, flips()), []byte("{}"), []byte("null"), []byte(`{"code":-1}`), []byte(`{"format":99}`))
	for i, content := range contents {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		status, err := session.Status(context.Background())
		flipped := i >= len(was)-1 && i < len(contents)-4
		if err == nil && (!flipped || status.State != terminal.StateExited) {
			t.Errorf("%q: %+v", content, status)
		}
		if err != nil && (!errors.Is(err, terminal.ErrUnreachable) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%q: %v: want unreachable for %s", content, err, path)
		}
		if err != nil { // the output is whole all the same
			out, err := session.Output(context.Background(), 0)
			if err != nil {
				t.Fatalf("%q: %v", content, err)
			}
			all, err := io.ReadAll(out)
			out.Close()
			if string(all) != printed || err != nil {
				t.Errorf("%q: %d bytes of output, want %d: %v", content, len(all), len(printed), err)
			}
			if _, err := session.Capture(context.Background(), terminal.CaptureOptions{Format: terminal.FormatText}); err != nil {
				t.Errorf("%q: capture: %v", content, err)
			}
		}
		if _, err := b.Start(context.Background(), s); err == nil {
			t.Fatalf("%q: started over", content)
		}
	}
	if err := session.Remove(context.Background()); err != nil {
		t.Errorf("remove: %v", err)
	}
	if _, err := b.Start(context.Background(), s); err != nil {
		t.Errorf("start after the remove: %v", err)
	}
}

// Whatever is wrong with the other files of an ended session, its exit is
// told; what is missing of its output is an error or a gap, never silent.
func TestDamagedRemains(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(dir string) error
		whole  bool // all output is there
	}{
		{"no owner.json", func(dir string) error { return os.Remove(dir + "/owner.json") }, true},
		{"owner.json is cut off", func(dir string) error { return os.Truncate(dir+"/owner.json", 9) }, true},
		{"owner.json is a directory", func(dir string) error {
			return errors.Join(os.Remove(dir+"/owner.json"), os.Mkdir(dir+"/owner.json", 0o700))
		}, true},
		{"no start.lock", func(dir string) error { return os.Remove(dir + "/start.lock") }, true},
		{"no last screen", func(dir string) error { return os.Remove(dir + "/screen.ans") }, true},
		{"last screen is cut off", func(dir string) error { return os.Truncate(dir+"/screen.ans", 3) }, true},
		{"foreign files in the journal", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/journal/note.log", []byte("x"), 0o600),
				os.WriteFile(dir+"/journal/99999999999999999999.log", []byte("x"), 0o600),
				os.Mkdir(dir+"/journal/00000000000000009999.log", 0o700))
		}, true},
		{"segment is cut off", func(dir string) error { return os.Truncate(dir+"/journal/00000000000000000000.log", 100) }, false},
		{"segment is missing", func(dir string) error { return os.Remove(dir + "/journal/00000000000000000000.log") }, false},
		{"no journal", func(dir string) error { return os.RemoveAll(dir + "/journal") }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, newBackend := newBackends(t)
			b := newBackend()
			s, text := endedSession(t, b)
			session := b.Session(s.ID)
			if err := tt.damage(filepath.Join(data, "sessions", s.ID)); err != nil {
				t.Fatal(err)
			}
			status, err := session.Status(context.Background())
			if err != nil || status.State != terminal.StateExited || status.Exit.Code != 7 || status.Head != uint64(len(text)) {
				t.Errorf("%+v, %v", status, err)
			}
			got := ""
			out, err := session.Output(context.Background(), 0)
			if err == nil {
				var all []byte
				all, err = io.ReadAll(out)
				got = string(all)
				out.Close()
			}
			if tt.whole && (err != nil || got != text) || !tt.whole && (err == nil || !strings.HasPrefix(text, got)) {
				t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
			}
			if err := session.Remove(context.Background()); err != nil {
				t.Errorf("remove: %v", err)
			}
		})
	}
}

// A directory on the way that is not the one that was made is refused by its
// path; put back, the session is there.
func TestSwappedDirectories(t *testing.T) {
	for _, name := range []string{"state directory", "sessions"} {
		t.Run(name, func(t *testing.T) {
			data, newBackend := newBackends(t)
			b := newBackend()
			s := spec("exec sleep 1000")
			path, aside := filepath.Join(data, "sessions"), filepath.Join(data, "aside")
			if name == "state directory" {
				path = filepath.Join(path, s.ID)
			}
			mend := func() {
				os.Remove(path)
				os.Rename(aside, path)
			}
			before := start(t, b, s, mend)
			if err := errors.Join(os.Rename(path, aside), os.Symlink(aside, path)); err != nil {
				t.Fatal(err)
			}
			_, err := b.Session(s.ID).Status(context.Background())
			if !errors.Is(err, terminal.ErrUnreachable) || !strings.Contains(err.Error(), path) {
				t.Errorf("status: %v, want unreachable for %s", err, path)
			}
			if err := b.Session(s.ID).Stop(context.Background(), -1); !errors.Is(err, terminal.ErrUnreachable) {
				t.Errorf("stop: %v", err)
			}
			if err := b.Session(s.ID).Remove(context.Background()); !errors.Is(err, terminal.ErrUnreachable) {
				t.Errorf("remove: %v", err)
			}
			if _, err := b.Start(context.Background(), s); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("start: %v, want an error that names %s", err, path)
			}
			mend()
			if now, err := b.Session(s.ID).Status(context.Background()); err != nil || now.PID != before.PID {
				t.Errorf("mended: %+v, %v", now, err)
			}
		})
	}
}

// A process that has the dead owner's number is nobody's business.
func TestReusedProcessID(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("exec sleep 1000")
	start(t, b, s, nil)
	owner := ownerPID(t, data, s.ID)
	loseOwner(t, data, s.ID)
	b.Wait()
	innocent := exec.Command("sleep", "1000")
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	defer innocent.Wait()
	defer innocent.Process.Kill()
	path := filepath.Join(data, "sessions", s.ID, "owner.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, fmt.Appendf(nil, "\"owner_pid\": %d", owner), fmt.Appendf(nil, "\"owner_pid\": %d", innocent.Process.Pid), 1)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	session := b.Session(s.ID)
	if status, err := session.Status(context.Background()); err != nil || status.State != terminal.StateLost {
		t.Errorf("%+v, %v, want lost", status, err)
	}
	if err := errors.Join(session.Stop(context.Background(), -1), session.Remove(context.Background())); err != nil {
		t.Error(err)
	}
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", innocent.Process.Pid)); err != nil || bytes.Contains(stat, []byte(") Z ")) {
		t.Errorf("the innocent process: %s, %v", stat, err)
	}
}

// A start.lock that was removed from a live session comes back with the next
// start, which finds the owner that there is. A clock that was moved changes
// nothing.
func TestStartLockRemovedAndClockMoved(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("exec sleep 1000")
	before := start(t, b, s, nil)
	dir := filepath.Join(data, "sessions", s.ID)
	if err := os.Remove(dir + "/start.lock"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(dir + "/owner.json")
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`"created": "2`), []byte(`"created": "9`), 1)
	if err := os.WriteFile(dir+"/owner.json", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if now, err := b.Start(context.Background(), s); err != nil || now.PID != before.PID || now.State != terminal.StateRunning {
		t.Errorf("%+v, %v: want program %d", now, err, before.PID)
	}
	if ids, err := b.List(context.Background()); err != nil || !slices.Contains(ids, s.ID) {
		t.Errorf("listed %q, %v", ids, err)
	}
	if err := b.Session(s.ID).Stop(context.Background(), -1); err != nil {
		t.Error(err)
	}
	b.Wait()
	if now, err := b.Session(s.ID).Status(context.Background()); err != nil || now.State != terminal.StateExited || !now.StartedAt.After(now.Exit.Time) {
		t.Errorf("an exit before the start: %+v, %v", now, err)
	}
}

// Whoever listens in the owner's place and is another user gets no token.
func TestTokenIsNotForStrangers(t *testing.T) {
	testenv.NeedRoot(t, "listen as another user")
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("exec sleep 1000")
	socket := filepath.Join(data, "sessions", s.ID, "owner.sock")
	mend := func() { os.Rename(socket+".aside", socket) }
	before := start(t, b, s, mend)
	if err := os.Rename(socket, socket+".aside"); err != nil {
		t.Fatal(err)
	}
	stranger := listenAs(t, 65534)
	defer stranger.Close()
	if err := os.Rename(stranger.Addr().String(), socket); err != nil {
		t.Fatal(err)
	}
	heard := make(chan []byte, 1)
	go func() {
		conn, err := stranger.Accept()
		if err != nil {
			heard <- []byte(err.Error())
			return
		}
		defer conn.Close()
		said, _ := io.ReadAll(conn)
		heard <- said
	}()
	_, err := b.Session(s.ID).Status(context.Background())
	if !errors.Is(err, terminal.ErrUnreachable) || !strings.Contains(err.Error(), socket) || !strings.Contains(err.Error(), "65534") {
		t.Errorf("status: %v, want unreachable for %s of user 65534", err, socket)
	}
	if said := testenv.Receive(t, time.Minute, "what the stranger hears", heard); len(said) > 0 {
		t.Errorf("the stranger heard %q", said)
	}
	mend()
	if now, err := b.Session(s.ID).Status(context.Background()); err != nil || now.PID != before.PID {
		t.Errorf("mended: %+v, %v", now, err)
	}
}

// listenAs listens on a socket as another user, who is this thread's alone.
func listenAs(t *testing.T, uid uintptr) net.Listener {
	t.Helper()
	dir := testenv.ShortDir(t)
	if err := os.Chown(dir, int(uid), 0); err != nil {
		t.Fatal(err)
	}
	type result struct {
		l   net.Listener
		err error
	}
	c := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // and never back: the thread ends with this
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uid, ^uintptr(0)); errno != 0 {
			c <- result{nil, errno}
			return
		}
		l, err := net.Listen("unix", filepath.Join(dir, "s"))
		c <- result{l, err}
	}()
	r := testenv.Receive(t, time.Minute, "a listener", c)
	if r.err != nil {
		t.Fatal(r.err)
	}
	r.l.(*net.UnixListener).SetUnlinkOnClose(false)
	return r.l
}

// A session whose owner cannot be reached, because what leads to it is gone or
// damaged, can be stopped all the same.
func TestStopPastWhatIsDamaged(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"record cut":        func(dir string) error { return os.Truncate(filepath.Join(dir, "owner.json"), 100) },
		"record removed":    func(dir string) error { return os.Remove(filepath.Join(dir, "owner.json")) },
		"socket removed":    func(dir string) error { return os.Remove(filepath.Join(dir, "owner.sock")) },
		"directory removed": os.RemoveAll,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, newBackend := newBackends(t)
			b := newBackend()
			s := spec("trap '' HUP; sleep 1000 & echo READY; wait; sleep 1000")
			status := start(t, b, s, nil)
			if err := waitText(b.Session(s.ID), "READY"); err != nil {
				t.Fatal(err)
			}
			if err := damage(filepath.Join(data, "sessions", s.ID)); err != nil {
				t.Fatal(err)
			}
			if err := b.Session(s.ID).Stop(context.Background(), 100*time.Millisecond); err != nil {
				t.Errorf("stop: %v", err)
			}
			b.Wait() // the owner has ended, and so has all that hung from it
			testenv.Eventually(t, time.Minute, "the end of the program", func() bool {
				return errors.Is(syscall.Kill(status.PID, 0), syscall.ESRCH) // whoever adopts it reaps it
			})
		})
	}
}
