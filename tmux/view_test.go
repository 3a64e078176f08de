//go:build unix

package tmux

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

// patience is how long a viewer waits for what it was promised.
const patience = time.Minute

// received collects what a viewer is sent until all of want were there.
func received(t *testing.T, a terminal.Attachment, want ...string) string {
	t.Helper()
	late := time.AfterFunc(patience, func() { a.Close() }) // wakes Receive
	defer late.Stop()
	var got bytes.Buffer
	for {
		missing := ""
		for _, w := range want {
			if !strings.Contains(got.String(), w) {
				missing = w
			}
		}
		if missing == "" {
			return got.String()
		}
		m, err := a.Receive()
		if err != nil {
			t.Fatalf("%v before %q came in %q", err, missing, got.String())
		}
		got.Write(m.Data)
	}
}

// TestWhatTheProgramAsksForReachesTheViewer: colours, links, title, clipboard
// and bell pass through tmux; its own alternate screen does not, so that the
// viewer's scrollback works.
func TestWhatTheProgramAsksForReachesTheViewer(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `echo READY; read x; printf '\033]2;a title\007\033[38;2;1;2;3mRGB\033[m\007BELL\n'
		i=0; while read x; do i=$((i+1)); printf '\033]52;c;aGVsbG8=\007COPIED%d.\n' $i; done`)
	a, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	enter := func() {
		t.Helper()
		if err := a.Input([]byte("\r")); err != nil {
			t.Fatal(err)
		}
	}
	// A bell goes to who is there at the time: once something was drawn, the
	// viewer is.
	got := received(t, a, "READY")
	enter()
	got += received(t, a, "1;2;3", "RGB", "BELL", "a title", "\a")
	// tmux drops a clipboard request that meets a redraw, so it may take more
	// than one.
	for try := 1; !strings.Contains(got, "aGVsbG8="); try++ {
		if try > 20 {
			t.Fatalf("no clipboard request came in %q", got)
		}
		enter()
		got += received(t, a, fmt.Sprintf("COPIED%d.", try))
	}
	if strings.Contains(got, "\x1b[?1049h") {
		t.Errorf("tmux took the viewer's alternate screen: %q", got)
	}
}

// TestScrollbackIsDrawnFirst: a viewer that asks for it has the lines above
// the screen in its own scrollback.
func TestScrollbackIsDrawnFirst(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `for i in $(seq 100); do echo "line $i."; done; read x`)
	printed(t, s, "line 100.")
	for _, tt := range []struct {
		lines    int
		has, not string
	}{{-1, "line 1.", "none"}, {5, "line 75.", "line 70."}, {0, "line 100.", "line 75."}} {
		a, err := s.Attach(testContext(t), terminal.AttachOptions{
			Mode: terminal.ModeAttach, Size: terminal.DefaultSize, Scrollback: tt.lines,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := received(t, a, "line 100.", tt.has)
		if strings.Contains(got, tt.not) {
			t.Errorf("%d lines: %q is in %q", tt.lines, tt.not, got)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDetachedByHand: detach-client ends our client and not the session.
func TestDetachedByHand(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `echo READY; read x`)
	a, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	received(t, a, "READY")
	command(t, b, "detach-client", "-s", "="+s.id)
	for {
		m, err := a.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind == terminal.MessageDetached {
			if m.Reason != terminal.DetachPolicy {
				t.Errorf("detached by %q, want %q", m.Reason, terminal.DetachPolicy)
			}
			break
		}
	}
	if st := stateOf(t, s); st.State != terminal.StateRunning {
		t.Errorf("state %s afterwards", st.State)
	}
}

// TestATakeoverTellsWho: the one displaced and who follows learn who types
// now, and when nobody does any more.
func TestATakeoverTellsWho(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `echo READY; read x`)
	printed(t, s, "READY")
	head := stateOf(t, s).Head
	attach := func(o terminal.AttachOptions) terminal.Attachment {
		t.Helper()
		a, err := s.Attach(testContext(t), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		return a
	}
	writer := func(a terminal.Attachment) string {
		t.Helper()
		for {
			m, err := a.Receive()
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case m.Kind == terminal.MessageDetached:
				t.Fatal("detached before it was told who types")
			case m.Kind == terminal.MessageEvent && m.Event.Kind == terminal.EventWriter && m.Event.Writer == nil:
				return "nobody"
			case m.Kind == terminal.MessageEvent && m.Event.Kind == terminal.EventWriter:
				return m.Event.Writer.Client
			}
		}
	}
	follower := attach(terminal.AttachOptions{Mode: terminal.ModeWatch, From: &head})
	first := attach(terminal.AttachOptions{Mode: terminal.ModeAttach, Client: "first"})
	if got := writer(follower); got != "first" {
		t.Errorf("the follower heard of %q", got)
	}
	second := attach(terminal.AttachOptions{Mode: terminal.ModeAttach, Client: "second", Takeover: true})
	if got := writer(first); got != "second" {
		t.Errorf("the first heard of %q", got)
	}
	for got := writer(follower); got != "second"; got = writer(follower) {
		if got != "first" {
			t.Errorf("the follower heard of %q", got)
		}
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	for got := writer(follower); got != "nobody"; got = writer(follower) {
		if got != "second" {
			t.Errorf("the follower heard of %q", got)
		}
	}
}

// TestAClientThatHangsIsEnded: a viewer leaves although its client does not
// react, and the session goes on.
func TestAClientThatHangsIsEnded(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `echo READY; read x`)
	v, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	if err != nil {
		t.Fatal(err)
	}
	received(t, v, "READY")
	pid := v.(*attachment).cmd.Process.Pid
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the client after the end: %v, want %v", err, unix.ESRCH)
	}
	if st := stateOf(t, s); st.State != terminal.StateRunning || st.Writer != nil {
		t.Errorf("status %+v afterwards", st)
	}
}

// TestAViewerNeverSlowsTheProgram: one that reads nothing holds nothing up.
func TestAViewerNeverSlowsTheProgram(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `read x; seq 300000; exit 7`)
	zero := uint64(0)
	for _, o := range []terminal.AttachOptions{
		{Mode: terminal.ModeAttach, Size: terminal.DefaultSize}, {Mode: terminal.ModeWatch},
		{Mode: terminal.ModeWatch, From: &zero},
	} {
		a, err := s.Attach(testContext(t), o)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
	}
	if err := s.Input(testContext(t), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "exit", func() bool { return stateOf(t, s).State == terminal.StateExited })
}
