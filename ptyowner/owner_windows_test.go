package ptyowner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/internal/private"
	"middleman/internal/proc"
	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/ptyowner/state"
	"middleman/terminal"
)

// binary is the binary that runs as owner: the real one where scripts/test-windows
// has built it, else the test binary.
func binary() string {
	if path := os.Getenv("MIDDLEMAN_WINDOWS_BINARY"); path != "" {
		return path
	}
	return self()
}

func backendIn(data string) *ptyowner.Backend {
	return ptyowner.New(ptyowner.Options{
		Data: data, Sessions: filepath.Join(data, "sessions"), Runtime: filepath.Join(data, "run"), Build: "test",
		Executable: func() (string, error) { return binary(), nil },
	})
}

func specOf(id string, program ...string) terminal.Spec {
	return terminal.Spec{
		ID: id, Argv: append([]string{self(), "program"}, program...), Dir: os.TempDir(),
		Env:  terminal.Environ{"SystemRoot=" + os.Getenv("SystemRoot"), "TEMP=" + os.TempDir()},
		Size: terminal.Size{Cols: 100, Rows: 30}, JournalBytes: 64 << 20, ScrollbackBytes: 1 << 20,
	}
}

const session = "s0123456789abcdef"

// start starts a session with a program of this binary. Whatever is left of it
// ends with the test.
func start(t *testing.T, program ...string) (data string, b *ptyowner.Backend, s terminal.Session) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	b = backendIn(data)
	t.Cleanup(b.Wait)
	if _, err := b.Start(t.Context(), specOf(session, program...)); err != nil {
		t.Fatal(err)
	}
	s = b.Session(session)
	t.Cleanup(func() { _ = s.Stop(context.Background(), -1) }) // most have ended
	return data, b, s
}

func attach(t *testing.T, s terminal.Session, o terminal.AttachOptions) terminal.Attachment {
	t.Helper()
	a, err := s.Attach(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func from(offset uint64) *uint64 { return &offset }

// collect reads output until done reports true of it, or the exit.
func collect(t *testing.T, a terminal.Attachment, done func([]byte) bool) (got []byte, exit *terminal.Exit) {
	t.Helper()
	for !done(got) {
		m, err := a.Receive()
		if err != nil {
			t.Fatalf("after %d bytes: %v", len(got), err)
		}
		switch m.Kind {
		case terminal.MessageOutput:
			got = append(got, m.Data...)
		case terminal.MessageExit:
			return got, &m.Exit
		case terminal.MessageDetached, terminal.MessageSnapshot:
			t.Fatalf("after %d bytes: message %v", len(got), m.Kind)
		}
	}
	return got, nil
}

func never([]byte) bool { return false }

func has(text string) func([]byte) bool {
	return func(got []byte) bool { return bytes.Contains(got, []byte(text)) }
}

func mustRecord(t *testing.T, data string) state.Record {
	t.Helper()
	r, err := state.Dir{ID: session, Path: filepath.Join(data, "sessions", session)}.ReadRecord()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The exit comes after the last output, is on disk, and can be asked for when the
// owner is gone.
func TestExitCodes(t *testing.T) {
	for _, code := range []int{0, 7} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			_, b, s := start(t, "exit", strconv.Itoa(code))
			a := attach(t, s, terminal.AttachOptions{Mode: terminal.ModeWatch, From: from(0)})
			got, exit := collect(t, a, never)
			if exit == nil || exit.Code != code || exit.Signal != 0 || exit.Offset != uint64(len(got)) {
				t.Errorf("exit %+v after %d bytes", exit, len(got))
			}
			if !has("the last words")(got) {
				t.Errorf("the output is %q", got)
			}
			a.Close()
			b.Wait() // the owner has ended
			status, err := s.Status(t.Context())
			if err != nil || status.State != terminal.StateExited || status.Exit.Code != code || status.Source != "disk" {
				t.Errorf("%+v, %v", status, err)
			}
			if err := s.Remove(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What is typed reaches the program, and what it prints the writer. A second
// writer is refused with the name of the first, or takes over.
func TestAttach(t *testing.T) {
	_, _, s := start(t, "echo")
	a := attach(t, s, terminal.AttachOptions{Mode: terminal.ModeAttach, From: from(0), Client: "first"})
	collect(t, a, has("ready"))
	if err := a.Input([]byte("hello\r")); err != nil {
		t.Fatal(err)
	}
	collect(t, a, has("<hello>"))
	_, err := s.Attach(t.Context(), terminal.AttachOptions{Mode: terminal.ModeAttach, Client: "second"})
	if busy, is := errors.AsType[*terminal.BusyError](err); !is || busy.Writer.Client != "first" {
		t.Fatalf("a second writer: %v", err)
	}
	second := attach(t, s, terminal.AttachOptions{Mode: terminal.ModeAttach, Client: "second", Takeover: true})
	if m, err := a.Receive(); err != nil || m.Kind != terminal.MessageDetached && m.Kind != terminal.MessageEvent && m.Kind != terminal.MessageOutput {
		t.Errorf("the first writer: %+v, %v", m, err)
	}
	if err := s.Input(t.Context(), []byte("exit 7\r")); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := second.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind == terminal.MessageExit {
			if m.Exit.Code != 7 {
				t.Errorf("exit %+v", m.Exit)
			}
			return
		}
	}
}

func TestResize(t *testing.T) {
	testenv.NotUnderWine(t, "its pseudo consoles have one size")
	_, _, s := start(t, "echo")
	a := attach(t, s, terminal.AttachOptions{Mode: terminal.ModeAttach, From: from(0)})
	collect(t, a, has("ready"))
	if err := a.Resize(terminal.Size{Cols: 120, Rows: 40}); err != nil {
		t.Fatal(err)
	}
	if status, err := s.Status(t.Context()); err != nil || status.Size.Cols != 120 {
		t.Errorf("%+v, %v", status, err)
	}
}

// Ctrl-C that is typed ends a program that does not handle it.
func TestControlC(t *testing.T) {
	testenv.NotUnderWine(t, "its pseudo consoles pass no ctrl-C on")
	_, _, s := start(t, "echo")
	a := attach(t, s, terminal.AttachOptions{Mode: terminal.ModeAttach, From: from(0)})
	collect(t, a, has("ready"))
	if err := a.Input([]byte{3}); err != nil {
		t.Fatal(err)
	}
	if _, exit := collect(t, a, never); exit == nil || exit.Code == 0 {
		t.Errorf("exit %+v", exit)
	}
}

// Each byte of 5 MB comes once, whoever asks from which offset.
func TestOutputByOffset(t *testing.T) {
	_, _, s := start(t, "lines", "52000")
	a := attach(t, s, terminal.AttachOptions{Mode: terminal.ModeWatch, From: from(0), Reader: true})
	all, exit := collect(t, a, never)
	if exit == nil || exit.Offset != uint64(len(all)) || len(all) < 5<<20 {
		t.Fatalf("%d bytes, exit %+v", len(all), exit)
	}
	for _, line := range []int{0, 25999, 51999} {
		if !has(fmt.Sprintf("%08d ", line))(all) {
			t.Errorf("line %d is missing", line)
		}
	}
	if !has("ALL PRINTED")(all) {
		t.Error("the end is missing")
	}
	for _, offset := range []uint64{0, 1, 4096, 1 << 20, uint64(len(all)) - 1, uint64(len(all))} {
		r, err := s.Output(t.Context(), offset)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || !bytes.Equal(got, all[offset:]) {
			t.Errorf("from %d: %d bytes, %v, want %d", offset, len(got), err, uint64(len(all))-offset)
		}
		again := attach(t, s, terminal.AttachOptions{Mode: terminal.ModeWatch, From: from(offset), Reader: true})
		if got, exit := collect(t, again, never); exit == nil || !bytes.Equal(got, all[offset:]) {
			t.Errorf("attached from %d: %d bytes, want %d", offset, len(got), uint64(len(all))-offset)
		}
	}
	t.Logf("%d bytes", len(all))
}

var pidPrinted = regexp.MustCompile(`pid (\d+)\.`)

// treeOf waits until a program "tree" of that depth has printed all its pids, and
// returns the start of each.
func treeOf(t *testing.T, s terminal.Session, deep int) map[int]string {
	t.Helper()
	a := attach(t, s, terminal.AttachOptions{Mode: terminal.ModeWatch, From: from(0)})
	starts := make(map[int]string)
	collect(t, a, func(got []byte) bool {
		for _, m := range pidPrinted.FindAllSubmatch(got, -1) {
			pid, _ := strconv.Atoi(string(m[1]))
			starts[pid] = proc.StartOf(pid)
		}
		return len(starts) == deep
	})
	a.Close()
	for pid, start := range starts {
		if start == "" {
			t.Fatalf("process %d does not run", pid)
		}
	}
	return starts
}

// A stop leaves nothing of a tree, with a grace and without.
func TestStopTree(t *testing.T) {
	for name, grace := range map[string]time.Duration{"at once": -1, "with a grace": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			_, _, s := start(t, "tree", "3")
			tree := treeOf(t, s, 3)
			if err := s.Stop(t.Context(), grace); err != nil {
				t.Fatal(err)
			}
			for pid, start := range tree {
				if proc.StillRuns(pid, start) {
					t.Errorf("process %d lives", pid)
				}
			}
			if status, err := s.Status(t.Context()); err != nil || status.State != terminal.StateExited {
				t.Errorf("%+v, %v", status, err)
			}
		})
	}
}

// An owner that is killed takes its job with it; then the lock is free, and the
// session is lost.
func TestKilledOwner(t *testing.T) {
	data, b, s := start(t, "tree", "3")
	tree := treeOf(t, s, 3)
	record := mustRecord(t, data)
	if !proc.StillRuns(record.OwnerPID, record.OwnerStart) {
		t.Fatalf("process %d, which started at %q, is not the owner", record.OwnerPID, record.OwnerStart)
	}
	owner, err := os.FindProcess(record.OwnerPID)
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Kill(); err != nil {
		t.Fatal(err)
	}
	b.Wait()
	if proc.StillRuns(record.OwnerPID, record.OwnerStart) {
		t.Errorf("process %d counts as the owner, which was killed", record.OwnerPID)
	}
	for pid, start := range tree {
		testenv.Eventually(t, 10*time.Second, fmt.Sprintf("the end of process %d", pid), func() bool { return !proc.StillRuns(pid, start) })
	}
	status, err := s.Status(t.Context())
	// The job may end before the last thread of the owner, which then records that
	// the program was killed.
	killed := status.State == terminal.StateExited && status.Exit.Code != 0
	if err != nil || status.State != terminal.StateLost && !killed {
		t.Errorf("%+v, %v", status, err)
	}
	if err := s.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}

// starter is the process that starts a session and waits to be killed.
func starter(data, id string) int {
	if _, err := backendIn(data).Start(context.Background(), specOf(id, "echo")); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("started")
	select {}
}

// A session does not notice that its starter is killed.
func TestStarterKilled(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	cmd := exec.Command(self(), "starter", data, session)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, err := out.Read(line)
	if !strings.HasPrefix(string(line[:n]), "started") {
		t.Fatalf("%q, %v", line[:n], err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	s := backendIn(data).Session(session)
	t.Cleanup(func() { _ = s.Stop(context.Background(), -1) }) // it has ended
	a := attach(t, s, terminal.AttachOptions{Mode: terminal.ModeAttach, From: from(0)})
	collect(t, a, has("ready"))
	if err := a.Input([]byte("still here\r")); err != nil {
		t.Fatal(err)
	}
	collect(t, a, has("<still here>"))
	if err := a.Input([]byte("exit 0\r")); err != nil {
		t.Fatal(err)
	}
	if _, exit := collect(t, a, never); exit == nil || exit.Code != 0 {
		t.Errorf("exit %+v", exit)
	}
	a.Close()
	record := mustRecord(t, data)
	testenv.Eventually(t, 10*time.Second, "the end of the owner", func() bool { return !proc.StillRuns(record.OwnerPID, record.OwnerStart) })
}

// Ten starters make one owner.
func TestConcurrentStarts(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	pids := make([]int, 10)
	var starts sync.WaitGroup
	for i := range pids {
		b := backendIn(data)
		t.Cleanup(b.Wait)
		starts.Go(func() {
			status, err := b.Start(t.Context(), specOf(session, "echo"))
			if err != nil {
				t.Error(err)
			}
			pids[i] = status.PID
		})
	}
	starts.Wait()
	if slices.Min(pids) != slices.Max(pids) || pids[0] == 0 {
		t.Errorf("programs %v", pids)
	}
	if err := backendIn(data).Session(session).Stop(t.Context(), -1); err != nil {
		t.Error(err)
	}
}

// What cannot be started is an error that names it, and leaves nothing.
func TestStartFails(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	b := backendIn(data)
	for name, spoil := range map[string]func(*terminal.Spec){
		"no program":           func(s *terminal.Spec) { s.Argv = []string{`C:\none.exe`} },
		"a relative program":   func(s *terminal.Spec) { s.Argv = []string{`none.exe`} },
		"no directory":         func(s *terminal.Spec) { s.Dir = `C:\none` },
		"a batch file's quote": func(s *terminal.Spec) { s.Argv = []string{`C:\x.cmd`, `a"b`} },
	} {
		spec := specOf(session, "echo")
		spoil(&spec)
		_, err := b.Start(t.Context(), spec)
		if _, is := errors.AsType[*terminal.StartError](err); !is {
			t.Errorf("%s: %v", name, err)
		}
		if ids, err := b.List(t.Context()); len(ids) > 0 || err != nil {
			t.Errorf("%s left %v, %v", name, ids, err)
		}
	}
	b.Wait()
}

// A lock that is held is the only proof of life: a damaged owner.json of a live
// owner changes nothing, and state without an owner may go.
func TestStaleAndCorruptState(t *testing.T) {
	data, b, s := start(t, "echo")
	dir := state.Dir{ID: session, Path: filepath.Join(data, "sessions", session)}
	if life, err := dir.Probe(); life != state.Alive || err != nil {
		t.Fatalf("life %v, %v", life, err)
	}
	record, err := private.ReadFile(dir.File(state.RecordFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, corrupt := range []string{"", "{", "null", `{"format":99}`, strings.Repeat("[", 10000), `{"format":1,"socket":"\\\\.\\pipe\\lsass"}`} {
		if err := private.Replace(dir.File(state.RecordFile), []byte(corrupt), private.ThisBoot); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Status(t.Context()); !errors.Is(err, terminal.ErrUnreachable) {
			t.Errorf("%.20q: %v", corrupt, err)
		}
		if err := s.Remove(t.Context()); !errors.Is(err, terminal.ErrUnreachable) {
			t.Errorf("remove with %.20q: %v", corrupt, err)
		}
	}
	if err := private.Replace(dir.File(state.RecordFile), record, private.ThisBoot); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	b.Wait()
	if life, err := dir.Probe(); life != state.Dead || err != nil {
		t.Errorf("life %v, %v", life, err)
	}
	if err := private.Replace(dir.File(state.RecordFile), []byte("{"), private.ThisBoot); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}
