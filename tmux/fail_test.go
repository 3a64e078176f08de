//go:build unix

package tmux

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/terminal"
	"middleman/terminal/journal"
)

func TestServerKilledIsLostWithItsJournal(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `trap "" HUP; echo KEPT; sleep 1000`)
	printed(t, s, "KEPT")
	program := stateOf(t, s).PID
	command(t, b, "kill-server")
	eventually(t, "lost", func() bool { return stateOf(t, s).State == terminal.StateLost })
	eventually(t, "the program ended", func() bool { return errors.Is(unix.Kill(program, 0), unix.ESRCH) })
	st := stateOf(t, s)
	if st.Exit != nil || outputOf(t, s) != "KEPT\r\n" {
		t.Errorf("status %+v, output %q", st, outputOf(t, s))
	}
	if _, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeAttach}); !errors.Is(err, terminal.ErrGone) {
		t.Errorf("attach: %v, want %v", err, terminal.ErrGone)
	}
	if err := s.Input(testContext(t), []byte("x")); !errors.Is(err, terminal.ErrEnded) {
		t.Errorf("input: %v, want %v", err, terminal.ErrEnded)
	}
	if err := s.Stop(testContext(t), 0); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := s.Remove(testContext(t)); err != nil {
		t.Errorf("remove: %v", err)
	}
}

func TestLauncherKilledIsLostAndStopped(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `trap "" HUP TERM; echo KEPT; while :; do sleep 1000; done`)
	printed(t, s, "KEPT")
	l, err := s.launcher()
	if err != nil {
		t.Fatal(err)
	}
	unix.Kill(l.PID, unix.SIGKILL)
	eventually(t, "lost", func() bool { return stateOf(t, s).State == terminal.StateLost })
	if err := s.Stop(testContext(t), -1); err != nil {
		t.Errorf("stop: %v", err)
	}
	eventually(t, "the program ended", func() bool { return errors.Is(unix.Kill(l.Program, 0), unix.ESRCH) })
	if got := outputOf(t, s); got != "KEPT\r\n" {
		t.Errorf("output %q", got)
	}
	srv := server{tmux: "tmux", socket: b.socket()}
	eventually(t, "the tmux session ended", func() bool {
		there, err := srv.hasPane(testContext(t), s.id)
		return err == nil && !there
	})
}

// TestStopOfALostSessionWaits: also for a process that takes its time to end,
// since it has much memory to give back.
func TestStopOfALostSessionWaits(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `trap "" HUP TERM; x=$(head -c 50000000 /dev/zero | tr "\0" a); x="$x$x$x$x"; echo KEPT; while :; do sleep 1000; done`)
	printed(t, s, "KEPT")
	l, err := s.launcher()
	if err != nil {
		t.Fatal(err)
	}
	unix.Kill(l.PID, unix.SIGKILL)
	eventually(t, "lost", func() bool { return stateOf(t, s).State == terminal.StateLost })
	if err := s.Stop(testContext(t), -1); err != nil {
		t.Fatal(err)
	}
	all, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.pid == l.Program && !p.zombie {
			t.Errorf("the program is still there: %+v", p)
		}
	}
}

// killHelper kills the session's journal helper.
func killHelper(t *testing.T, s *session) {
	t.Helper()
	l, err := s.launcher()
	if err != nil {
		t.Fatal(err)
	}
	all, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	killed := false
	for _, p := range all {
		args, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
		if err == nil && p.pid != l.PID && bytes.Contains(args, []byte(CommandJournal+"\x00"+string(s.dir)+"\x00")) &&
			!bytes.Contains(args, []byte("new-session")) {
			unix.Kill(p.pid, unix.SIGKILL)
			killed = true
		}
	}
	if !killed {
		t.Skip("no /proc to find the journal helper in")
	}
}

func TestExitIsRecordedWithoutTheJournalHelper(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `echo READY; read x; exit 7`)
	printed(t, s, "READY")
	killHelper(t, s)
	if err := s.Input(testContext(t), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "exit", func() bool { return stateOf(t, s).State == terminal.StateExited })
	if e := stateOf(t, s).Exit; e.Code != 7 || e.Offset < uint64(len("READY\r\n")) {
		t.Errorf("exit %+v, want code 7", e)
	}
}

// TestAJournalHelperThatDiedIsReplaced: recording goes on behind a gap that
// readers meet, and the exit still comes in order.
func TestAJournalHelperThatDiedIsReplaced(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `echo READY; while read x; do [ "$x" = end ] && exit 7; echo "got $x."; done`)
	printed(t, s, "READY")
	ready := stateOf(t, s).Head
	from := ready
	for i := range 3 {
		killHelper(t, s)
		// The gap is one byte long, and CAN comes behind it.
		eventually(t, "another helper", func() bool { return stateOf(t, s).Head == from+2 })
		var gap *journal.GapError
		r := s.dir.journal()
		if _, err := r.ReadAt(make([]byte, 1), from); !errors.As(err, &gap) || gap.Next != from+1 {
			t.Errorf("at %d: %v, want a gap of one byte", from, err)
		}
		r.Close()
		if err := s.Input(testContext(t), []byte(strconv.Itoa(i)+"\n")); err != nil {
			t.Fatal(err)
		}
		want := "\x18" + strconv.Itoa(i) + "\r\ngot " + strconv.Itoa(i) + ".\r\n"
		eventually(t, "output behind the gap", func() bool { return outputFrom(t, s, from+1) == want })
		from = stateOf(t, s).Head
	}
	if err := s.Input(testContext(t), []byte("end\n")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "exit", func() bool { return stateOf(t, s).State == terminal.StateExited })
	if e := stateOf(t, s).Exit; e.Code != 7 || e.Offset != from+uint64(len("end\r\n")) {
		t.Errorf("exit %+v, want code 7 behind %d", e, from)
	}
}

// TestAFollowerGoesOnAcrossAGap: it is told of the gap by a snapshot, and
// follows the helper that took over.
func TestAFollowerGoesOnAcrossAGap(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `echo READY; while read x; do [ "$x" = end ] && exit 7; echo "got $x."; done`)
	printed(t, s, "READY")
	head := stateOf(t, s).Head
	a, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeWatch, From: &head})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	killHelper(t, s)
	next := func() terminal.Message {
		t.Helper()
		m, err := a.Receive()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if m := next(); m.Kind != terminal.MessageSnapshot || m.Offset <= head || !strings.Contains(string(m.Data), "READY") {
		t.Errorf("message %d at %d %q, want a snapshot behind %d", m.Kind, m.Offset, m.Data, head)
	}
	if err := s.Input(testContext(t), []byte("1\nend\n")); err != nil {
		t.Fatal(err)
	}
	got := ""
	for m := next(); m.Kind != terminal.MessageExit; m = next() {
		got += string(m.Data)
	}
	if !strings.Contains(got, "got 1.") {
		t.Errorf("behind the gap came %q", got)
	}
	eventually(t, "a journal that does not fail", func() bool { return stateOf(t, s).Journal == "" })
}

// TestAStatusSaysThatNothingIsKept: where no journal helper can be started any
// more, the status says so while the program runs, and its exit is recorded.
func TestAStatusSaysThatNothingIsKept(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `echo READY; read x; exit 7`)
	printed(t, s, "READY")
	if st := stateOf(t, s); st.Journal != "" {
		t.Errorf("journal %q", st.Journal)
	}
	if err := os.Mkdir(s.dir.path(helperFIFO), 0o700); err != nil { // no helper can be reached
		t.Fatal(err)
	}
	killHelper(t, s)
	eventually(t, "a word", func() bool { return strings.Contains(stateOf(t, s).Journal, "helper ended") })
	if !testing.Short() {
		eventually(t, "the last word", func() bool { return strings.Contains(stateOf(t, s).Journal, "no journal helper") })
	}
	if err := s.Input(testContext(t), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "exit", func() bool { return stateOf(t, s).State == terminal.StateExited })
	if st := stateOf(t, s); st.Exit.Code != 7 || st.Journal != "" {
		t.Errorf("status %+v", st)
	}
}

// TestAFollowerHearsTitleAndBell: each once, behind its output; those of a
// replay are not told again.
func TestAFollowerHearsTitleAndBell(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `printf '\033]2;old\007READY'; read x; printf '\033]2;new\007\aEND'; read x`)
	printed(t, s, "READY")
	zero := uint64(0)
	a, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeWatch, From: &zero})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := s.Input(testContext(t), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	var heard []string
	for got := ""; len(heard) < 2; {
		m, err := a.Receive()
		if err != nil {
			t.Fatal(err)
		}
		got += string(m.Data)
		if m.Kind == terminal.MessageEvent {
			heard = append(heard, string(m.Event.Kind)+" "+m.Event.Text)
			if !strings.Contains(got, "new") || m.Event.Offset <= a.Hello().Head {
				t.Errorf("event %+v came behind %q", m.Event, got)
			}
		}
	}
	if !slices.Equal(heard, []string{"title new", "bell "}) {
		t.Errorf("heard %q", heard)
	}
}

// TestAResizeIsToldAndRecorded: who follows learns of it, and an earlier
// screen, as well as what is exported, has the size that it had.
func TestAResizeIsToldAndRecorded(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `echo READY; read x; until [ "$(stty size)" = "20 70" ]; do :; done; echo RESIZED; read x`)
	printed(t, s, "READY")
	head := stateOf(t, s).Head
	f, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeWatch, From: &head})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.Size{Cols: 91, Rows: 31}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Resize(terminal.Size{Cols: 70, Rows: 20}); err != nil {
		t.Fatal(err)
	}
	if err := a.Input([]byte("\r")); err != nil {
		t.Fatal(err)
	}
	var sizes []terminal.Size
	for got := ""; !strings.Contains(got, "RESIZED") || len(sizes) < 2; {
		m, err := f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		got += string(m.Data)
		if m.Kind == terminal.MessageEvent && m.Event.Kind == terminal.EventSize {
			sizes = append(sizes, *m.Event.Size)
		}
	}
	if want := []terminal.Size{{Cols: 91, Rows: 31}, {Cols: 70, Rows: 20}}; !slices.Equal(sizes, want) {
		t.Errorf("sizes %+v, want %+v", sizes, want)
	}
	for _, x := range []struct {
		at   uint64
		cols uint16
	}{{head - 1, 80}, {stateOf(t, s).Head, 70}} {
		c, err := s.Capture(testContext(t), terminal.CaptureOptions{At: &x.at})
		if err != nil || c.Size.Cols != x.cols || !strings.Contains(c.Note, "size") {
			t.Errorf("at %d: %+v, %v, want %d columns", x.at, c, err, x.cols)
		}
	}
	r, err := s.Recording(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cast, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(cast), `"r", "70x20"`) {
		t.Errorf("recording %s, %v", cast, err)
	}
}

// TestAStopIsShown: a session whose program takes its time is stopping.
func TestAStopIsShown(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `trap "" HUP TERM; echo READY; while :; do read x; done`)
	printed(t, s, "READY")
	ctx, cancel := context.WithCancel(testContext(t))
	done := make(chan error, 1)
	go func() { done <- s.Stop(ctx, time.Minute) }()
	eventually(t, "stopping", func() bool { return stateOf(t, s).State == terminal.StateStopping })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a stop that was given up: %v", err)
	}
	if st := stateOf(t, s); st.State != terminal.StateRunning {
		t.Errorf("state %s after the stop was given up", st.State)
	}
	if err := s.Stop(testContext(t), -1); err != nil {
		t.Error(err)
	}
	if st := stateOf(t, s); st.State != terminal.StateExited {
		t.Errorf("state %s after the stop", st.State)
	}
}

// TestExitOfAStoppedTerminal: ctrl-s holds neither the exit nor a byte back.
func TestExitOfAStoppedTerminal(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `echo READY; read x; exit 7`)
	printed(t, s, "READY")
	if err := s.Input(testContext(t), []byte("\n\x13")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "exit", func() bool { return stateOf(t, s).State == terminal.StateExited })
}

// TestWatchersResumeExactly: the bytes of two followers, the second from where
// the first was, are the program's.
func TestWatchersResumeExactly(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `seq 20000; read x; seq 20000; exit 7`)
	var got bytes.Buffer
	var at uint64
	exit := follow(t, s, &got, &at, 50_000)
	if exit != nil {
		t.Fatalf("exit %+v", exit)
	}
	if err := s.Input(testContext(t), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	exit = follow(t, s, &got, &at, 1<<62)
	if exit == nil || exit.Code != 7 || exit.Offset != at {
		t.Errorf("exit %+v at %d", exit, at)
	}
	if want := outputOf(t, s); got.String() != want {
		t.Errorf("followed %d bytes, want %d", got.Len(), len(want))
	}
	beyond := at + 1
	_, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeWatch, From: &beyond})
	if !errors.Is(err, terminal.ErrRange) {
		t.Errorf("from beyond the head: %v, want %v", err, terminal.ErrRange)
	}
}

// follow watches from *at on, until limit bytes have come or the end.
func follow(t *testing.T, s *session, got *bytes.Buffer, at *uint64, limit int) *terminal.Exit {
	t.Helper()
	a, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeWatch, From: at})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if h := a.Hello(); h.Offset != *at {
		t.Errorf("hello %+v, want offset %d", h, *at)
	}
	var exit *terminal.Exit
	for got.Len() < limit {
		m, err := a.Receive()
		switch {
		case err == io.EOF:
			return exit
		case err != nil:
			t.Fatal(err)
		case m.Kind == terminal.MessageOutput:
			if m.Offset != *at {
				t.Fatalf("output at %d, want %d", m.Offset, *at)
			}
			got.Write(m.Data)
			*at += uint64(len(m.Data))
		case m.Kind == terminal.MessageExit:
			exit = &m.Exit
		default:
			t.Fatalf("message %+v", m)
		}
	}
	return exit
}

// TestTrimmedOutputBecomesASnapshot: what is no longer kept is neither skipped
// in silence nor an end.
func TestTrimmedOutputBecomesASnapshot(t *testing.T) {
	b := newBackend(t)
	spec := terminal.Spec{
		ID: terminal.NewID("s"), Argv: []string{"/bin/sh", "-c", "seq 1500000; echo LAST; read x"},
		Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/", JournalBytes: 1 << 20,
	}
	if _, err := b.Start(testContext(t), spec); err != nil {
		t.Fatal(err)
	}
	s := b.session(spec.ID)
	zero := uint64(0)
	eventually(t, "trimmed", func() bool {
		st := stateOf(t, s)
		return st.Oldest > 0 && st.Head >= 10_000_000
	})
	_, err := s.Output(testContext(t), 0)
	var trimmed *terminal.TrimmedError
	if !errors.As(err, &trimmed) {
		t.Errorf("output: %v, want a TrimmedError", err)
	}
	a, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeWatch, From: &zero})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	m, err := a.Receive()
	if err != nil || m.Kind != terminal.MessageSnapshot || m.Offset == 0 {
		t.Errorf("first message %d at %d, %v, want a snapshot", m.Kind, m.Offset, err)
	}
}

// TestAttachByHandBesideAViewer: a user's own client is nobody's writer.
func TestAttachByHandBesideAViewer(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `echo READY; while read x; do echo "got $x."; done`)
	printed(t, s, "READY")
	at, err := s.dir.target()
	if err != nil {
		t.Fatal(err)
	}
	byHand := &attachment{
		s: s, srv: server{tmux: "tmux", socket: b.socket()}, mode: terminal.ModeAttach, at: at, session: "=" + s.id,
		buf: make([]byte, readSize), hello: terminal.Hello{Size: terminal.Size{Cols: 40, Rows: 10}},
	}
	if err := byHand.start(testContext(t)); err != nil {
		t.Fatal(err)
	}
	defer byHand.Close()
	a, err := s.Attach(testContext(t), terminal.AttachOptions{
		Mode: terminal.ModeAttach, Size: terminal.DefaultSize, Takeover: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := byHand.pty.Write([]byte("hand\r")); err != nil {
		t.Fatal(err)
	}
	printed(t, s, "got hand.")
	if err := a.Input([]byte("browser\r")); err != nil {
		t.Fatal(err)
	}
	printed(t, s, "got browser.")
	if st := stateOf(t, s); st.Size.Cols != terminal.DefaultSize.Cols {
		t.Errorf("size %+v is not the writer's", st.Size)
	}
}

func TestBadState(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, "read x")
	ctx := testContext(t)
	rec, err := s.dir.record()
	if err != nil {
		t.Fatal(err)
	}
	newer := rec
	newer.Format = formatVersion + 1
	if err := s.dir.writeJSON(recordFile, newer, private.ThisBoot); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Status(ctx); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("state of a newer version: %v", err)
	}
	if err := s.dir.writeFile(recordFile, []byte("{"), private.ThisBoot); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Status(ctx); err == nil || !strings.Contains(err.Error(), s.dir.path(recordFile)) {
		t.Errorf("corrupt state: %v", err)
	}
	if err := s.Remove(ctx); err == nil {
		t.Error("corrupt state was removed")
	}
	if err := s.dir.writeJSON(recordFile, rec, private.ThisBoot); err != nil {
		t.Fatal(err)
	}
	if st := stateOf(t, s); st.State != terminal.StateRunning {
		t.Errorf("state %s afterwards", st.State)
	}
	if err := os.Chmod(b.o.Sessions, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = b.Start(ctx, terminal.Spec{ID: terminal.NewID("s"), Argv: []string{"/bin/true"}, Dir: "/"})
	if err == nil || !strings.Contains(err.Error(), "writable by others") {
		t.Errorf("start in a directory that others can write: %v", err)
	}
	if err := os.Chmod(b.o.Sessions, 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestACrashedStartCanBeTriedAgain: what a killed starter left is in nobody's
// way.
func TestACrashedStartCanBeTriedAgain(t *testing.T) {
	b := newBackend(t)
	ctx := testContext(t)
	id := terminal.NewID("s")
	s := b.session(id)
	if err := os.MkdirAll(string(s.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.dir.writeJSON(recordFile, record{Format: formatVersion, ID: id, Created: time.Now()}, private.ThisBoot); err != nil {
		t.Fatal(err)
	}
	f, err := tryLock(s.dir.path(startLock), unix.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	if st := stateOf(t, s); st.State != terminal.StateStarting {
		t.Errorf("state %s while it starts", st.State)
	}
	f.Close()
	if st := stateOf(t, s); st.State != terminal.StateFailed {
		t.Errorf("state %s after the starter was killed", st.State)
	}
	st, err := b.Start(ctx, terminal.Spec{ID: id, Argv: []string{"/bin/sh", "-c", "exit 7"}, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "exit", func() bool { st = stateOf(t, s); return st.Exit != nil })
	if st.Exit.Code != 7 {
		t.Errorf("exit %+v", st.Exit)
	}
	_, err = b.Start(ctx, terminal.Spec{ID: id, Argv: []string{"/bin/true"}, Dir: "/"})
	if !errors.Is(err, terminal.ErrEnded) {
		t.Errorf("start of an ended id: %v, want %v", err, terminal.ErrEnded)
	}
}

// TestStopAfterTheExitFindsBackgroundJobs: the launcher stays as their
// subreaper.
func TestStopAfterTheExitFindsBackgroundJobs(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `trap "" HUP TERM; setsid sh -c 'echo $$.; exec sleep 1000' & read x; exit 7`)
	printed(t, s, ".")
	pid, err := strconv.Atoi(strings.TrimSuffix(outputOf(t, s), ".\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Input(testContext(t), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "exit", func() bool { return stateOf(t, s).State == terminal.StateExited })
	if err := unix.Kill(pid, 0); err != nil {
		t.Fatalf("the job ended with the program: %v", err)
	}
	if err := s.Stop(testContext(t), -1); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the job after the stop: %v, want %v", err, unix.ESRCH)
	}
}

// TestTheServerComesAndGoes: sessions start while the server ends with the
// last of the ones before.
func TestTheServerComesAndGoes(t *testing.T) {
	b := newBackend(t)
	ctx := testContext(t)
	for range 20 {
		s := start(t, b, "exit 7")
		eventually(t, "exit", func() bool {
			st, err := s.Status(ctx)
			if err != nil {
				t.Error(err)
			}
			return st.Exit != nil
		})
		if err := s.Remove(ctx); err != nil {
			t.Error(err)
		}
	}
}
