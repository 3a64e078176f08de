package ptyowner_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/terminal"
	"middleman/terminal/journal"
)

// smallDisk returns a Backend on a file system of 2 MiB of its own.
func smallDisk(t *testing.T) (data string, b *ptyowner.Backend) {
	t.Helper()
	data = testenv.ShortDir(t)
	testenv.SmallDisk(t, data, "2048")
	b = newBackend(t, ptyowner.Options{Data: data, Sessions: filepath.Join(data, "sessions"), Runtime: filepath.Join(data, "run")})
	t.Cleanup(b.Wait)
	return data, b
}

// fill takes all the room that there is.
func fill(t *testing.T, data string) (free func()) {
	t.Helper()
	path := filepath.Join(data, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() { os.Remove(path) }
}

// A program that ends while the disk is full is told as ended to whoever asks;
// once there is room the exit and the last output are on disk as well.
func TestExitOnAFullDisk(t *testing.T) {
	data, b := smallDisk(t)
	s := spec("echo before; read x; i=0; while [ $i -lt 500 ]; do echo RESULT $i; i=$((i+1)); done; exit 9")
	start(t, b, s, nil)
	session := b.Session(s.ID)
	if err := waitText(session, "before"); err != nil {
		t.Fatal(err)
	}
	free := fill(t, data)
	t.Cleanup(free)
	a, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach, From: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Input([]byte("go\r")); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for exited := false; !exited; {
		m, err := a.Receive()
		if err != nil {
			t.Fatal(err)
		}
		got.Write(m.Data)
		exited = m.Kind == terminal.MessageExit
		if exited && m.Exit.Code != 9 {
			t.Errorf("exit %+v, want code 9", m.Exit)
		}
	}
	if status, err := session.Status(context.Background()); err != nil || status.State != terminal.StateExited || status.Exit.Code != 9 {
		t.Errorf("with the disk full: %+v, %v", status, err)
	}
	free()
	b.Wait() // the owner ends when the record is on disk
	status, err := session.Status(context.Background())
	if err != nil || status.Source != "disk" || status.Exit == nil || status.Exit.Code != 9 {
		t.Errorf("from disk: %+v, %v", status, err)
	}
	out, err := session.Output(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	kept, err := io.ReadAll(out)
	if err != nil || string(kept) != got.String() || !strings.Contains(got.String(), "RESULT 499") {
		t.Errorf("kept %d bytes of %d, %v", len(kept), got.Len(), err)
	}
}

// catOnASmallDisk starts a session on a disk of its own that prints KEPT and then
// what is typed, and attaches to it.
func catOnASmallDisk(t *testing.T) (data, id string, session terminal.Session, a terminal.Attachment) {
	t.Helper()
	data, b := smallDisk(t)
	s := spec("stty raw -echo; printf KEPT; exec cat")
	start(t, b, s, nil)
	session = b.Session(s.ID)
	a, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach, From: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return data, s.ID, session, a
}

// While a disk is full a session goes on: its viewer sees every byte. What the
// disk did not take is told as a gap. It ends where there is room again, or
// before that, at the oldest output that is in memory.
func TestGapOnAFullDisk(t *testing.T) {
	data, id, session, a := catOnASmallDisk(t)
	seen := ""
	see := func(text string) {
		t.Helper()
		for want := seen + text; len(seen) < len(want); {
			m, err := a.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if seen += string(m.Data); !strings.HasPrefix(want, seen) {
				t.Fatalf("seen %d bytes that differ from what was typed", len(seen))
			}
		}
	}
	see("KEPT")
	free := fill(t, data)
	for i := range 100 { // more than the owner has in memory
		piece := strings.Repeat(string(rune('a'+i%26)), 1000)
		if err := a.Input([]byte(piece)); err != nil {
			t.Fatal(err)
		}
		see(piece)
	}
	free()
	if err := a.Input([]byte("HEALED")); err != nil {
		t.Fatal(err)
	}
	see("HEALED")
	kept, gaps := "", 0
	r := journal.Open(filepath.Join(data, "sessions", id, "journal"))
	defer r.Close()
	buf := make([]byte, 4096)
	for at := uint64(0); at < uint64(len(seen)); {
		n, err := r.ReadAt(buf, at)
		var gap *journal.GapError
		if errors.As(err, &gap) {
			gaps++
			at = gap.Next
			continue
		}
		if err != nil || string(buf[:n]) != seen[at:at+uint64(n)] {
			t.Fatalf("at %d: %v, or other bytes than were seen", at, err)
		}
		kept += string(buf[:n])
		at += uint64(n)
	}
	if gaps != 1 || !strings.HasPrefix(kept, "KEPT") || !strings.HasSuffix(kept, "HEALED") || len(kept) < 64<<10 {
		t.Errorf("%d gaps, kept %d bytes of %d", gaps, len(kept), len(seen))
	}
	a.Close()
	if err := session.Stop(context.Background(), -1); err != nil {
		t.Error(err)
	}
}

// Once there is room again, output from memory is kept as if there had always
// been room: for whoever asks next, and with the next output.
func TestGapIsFilledFromMemory(t *testing.T) {
	data, _, session, a := catOnASmallDisk(t)
	want := "KEPT"
	see := func(text string) {
		t.Helper()
		for at := len(want) - len(text); at < len(want); {
			m, err := a.Receive()
			if err != nil || !strings.HasPrefix(want[at:], string(m.Data)) {
				t.Fatalf("%q, %v, want %q", m.Data, err, want[at:])
			}
			at += len(m.Data)
		}
	}
	enter := func(text string) {
		t.Helper()
		if err := a.Input([]byte(text)); err != nil {
			t.Fatal(err)
		}
		want += text
		see(text)
	}
	see(want)
	kept := func() string {
		t.Helper()
		out, err := session.Output(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		got, err := io.ReadAll(out)
		if err != nil {
			t.Errorf("output: %v", err)
		}
		return string(got)
	}
	for _, next := range []string{"", "AFTER"} {
		free := fill(t, data)
		t.Cleanup(free)
		enter(strings.Repeat("x", 5000)) // more than the room in the last block
		if status, err := session.Status(context.Background()); err != nil || !strings.Contains(status.Journal, "no space left") {
			t.Errorf("on the full disk: %q, %v", status.Journal, err)
		}
		free()
		if next != "" {
			enter(next)
		}
		if got := kept(); got != want {
			t.Errorf("kept %d bytes of %d", len(got), len(want))
		}
		if status, err := session.Status(context.Background()); err != nil || status.Journal != "" {
			t.Errorf("with room again: %q, %v", status.Journal, err)
		}
	}
	a.Close()
	if err := session.Stop(context.Background(), -1); err != nil {
		t.Error(err)
	}
}

// What an owner that was killed leaves running is seen, and a stop ends it.
func TestKilledOwnerLeavesNoStrays(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec(`trap "" HUP; echo READY; while sleep 0.05; do :; done`)
	before := start(t, b, s, nil)
	session := b.Session(s.ID)
	if err := waitText(session, "READY"); err != nil {
		t.Fatal(err)
	}
	loseOwner(t, data, s.ID)
	b.Wait()
	status, err := session.Status(context.Background())
	if err != nil || status.State != terminal.StateLost {
		t.Fatalf("%+v, %v, want lost", status, err)
	}
	if !slices.Contains(status.Left, before.PID) {
		t.Fatalf("left %v, want the program %d among them", status.Left, before.PID)
	}
	if err := session.Stop(context.Background(), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if status, err = session.Status(context.Background()); err != nil || len(status.Left) > 0 {
		t.Errorf("after the stop: left %v, %v", status.Left, err)
	}
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(before.PID) + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the program is there: %s", stat)
	}
}

// A background job outlives its session's program; it is named, and a stop
// ends it.
func TestLeftOfAnEndedSession(t *testing.T) {
	_, newBackend := newBackends(t)
	b := newBackend()
	s := spec(`trap "" HUP; sleep 1000 >/dev/null 2>&1 & echo JOB $!; exit 0`)
	start(t, b, s, nil)
	session := b.Session(s.ID)
	if err := waitText(session, "JOB"); err != nil {
		t.Fatal(err)
	}
	a, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeWatch})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if m, err := a.Receive(); err != nil || m.Kind == terminal.MessageExit {
			break
		}
	}
	a.Close()
	status, err := session.Status(context.Background())
	if err != nil || status.State != terminal.StateExited || len(status.Left) != 1 {
		t.Fatalf("%+v, %v, want one process left", status, err)
	}
	if err := session.Stop(context.Background(), -1); err != nil {
		t.Fatal(err)
	}
	if status, err = session.Status(context.Background()); err != nil || len(status.Left) > 0 {
		t.Errorf("after the stop: left %v, %v", status.Left, err)
	}
}

// An owner whose state directory was removed ends with its program: there is
// nowhere to record the exit, and nobody who would look for it.
func TestOwnerOfARemovedDirectoryEnds(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("echo READY; read x")
	if _, err := b.Start(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	a, err := b.Session(s.ID).Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach, From: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(data, "sessions", s.ID)); err != nil {
		t.Fatal(err)
	}
	if err := a.Input([]byte("\r")); err != nil {
		t.Fatal(err)
	}
	if _, exit, err := collect(a, 0); err != nil || exit == nil || exit.Code != 0 {
		t.Errorf("exit %+v, %v", exit, err)
	}
	a.Close()
	b.Wait() // newBackends would wait for ever
}

// An owner that is killed while a job outlives its program costs nothing: the
// exit is told, the job is named, and a stop ends it.
func TestLeftOfAKilledOwner(t *testing.T) {
	data, newBackend := newBackends(t)
	b, ctx := newBackend(), context.Background()
	s := spec(`trap "" HUP; sleep 1000 >/dev/null 2>&1 & echo READY; exit 7`)
	start(t, b, s, nil)
	session := b.Session(s.ID)
	testenv.Eventually(t, time.Minute, "the exit", func() bool {
		status, err := session.Status(ctx)
		return err == nil && status.Exit != nil
	})
	if err := syscall.Kill(ownerPID(t, data, s.ID), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.Wait()
	var status terminal.Status
	testenv.Eventually(t, time.Minute, "the exit on disk, and the job", func() (ok bool) {
		var err error
		status, err = session.Status(ctx)
		return err == nil && status.Source == "disk" && len(status.Left) == 1
	})
	if status.State != terminal.StateExited || status.Exit.Code != 7 {
		t.Errorf("%+v, want exit 7", status)
	}
	if err := session.Stop(ctx, -1); err != nil {
		t.Error(err)
	}
	if status, err := session.Status(ctx); err != nil || len(status.Left) > 0 {
		t.Errorf("after the stop: left %v, %v", status.Left, err)
	}
	if err := session.Remove(ctx); err != nil {
		t.Error(err)
	}
}
