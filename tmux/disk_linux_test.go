package tmux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/testenv"
	"middleman/terminal"
)

// TestAnExitOnAFullDisk: it is told once there is room for its record, with the
// last output; nobody is kept out meanwhile, and nothing is called lost.
func TestAnExitOnAFullDisk(t *testing.T) {
	b := newBackend(t)
	if err := os.MkdirAll(b.o.Sessions, 0o700); err != nil {
		t.Fatal(err)
	}
	testenv.SmallDisk(t, b.o.Sessions, "2048")
	t.Cleanup(func() { cleanUp(t, b) })
	s := start(t, b, "echo BEGIN; read x; seq 1 400000; echo THE END; read x; exit 4")
	printed(t, s, "BEGIN")
	if err := s.Input(testContext(t), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(b.o.Sessions, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	f.Close()
	shown := func(text string) bool {
		shot, err := s.Capture(testContext(t), terminal.CaptureOptions{Format: terminal.FormatText})
		return err == nil && strings.Contains(string(shot.Data), text)
	}
	eventually(t, "the end", func() bool { return shown("THE END") })
	a, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	if err != nil {
		t.Fatalf("attach on a full disk: %v", err)
	}
	defer a.Close()
	if _, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeAttach}); err == nil {
		t.Error("a second writer was let in")
	}
	l, err := s.launcher()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Input([]byte("\r")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program's end", func() bool { return parentOf(l.Program) == 0 })
	if st := stateOf(t, s); st.State != terminal.StateRunning {
		t.Errorf("before there is room it is %s", st.State)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	eventually(t, "exit", func() bool { return stateOf(t, s).State.Ended() })
	st := stateOf(t, s)
	if st.Exit == nil || st.Exit.Code != 4 {
		t.Fatalf("status %+v", st)
	}
	from, gap := uint64(0), 0
	last := ""
	for from < st.Exit.Offset {
		r, err := s.Output(testContext(t), from)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for p := make([]byte, 64<<10); err == nil; n, err = r.Read(p) {
			from += uint64(n)
			last = last[max(0, len(last)-100):] + string(p[:n])
		}
		r.Close()
		if _, next, is := terminal.Gap(err); is {
			from, gap = next, gap+1
		} else if from < st.Exit.Offset {
			t.Fatalf("output ends at %d of %d: %v", from, st.Exit.Offset, err)
		}
	}
	if gap == 0 || !strings.Contains(last, "THE END") {
		t.Errorf("%d gaps, and at the end %q", gap, last)
	}
}
