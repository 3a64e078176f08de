//go:build unix

package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

func testUsable(f *fixture) {
	f.ok(f.b.Usable(f.ctx))
	if f.b.Name() == "" {
		f.Error("the backend has no name")
	}
	ids, err := f.b.List(f.ctx)
	f.ok(err)
	if len(ids) != 0 {
		f.Errorf("sessions %q before the first was started", ids)
	}
}

func testStart(f *fixture) {
	spec := f.spec(f.path("sh"), "-c", "echo pid $$.; read x")
	spec.Size = terminal.Size{Cols: 91, Rows: 31}
	before := time.Now().Add(-time.Second)
	s := f.start(spec)
	f.printed(s, ".")
	st, err := s.Status(f.ctx)
	f.ok(err)
	if st.ID != spec.ID || st.Workspace != spec.Workspace || st.Backend != f.b.Name() ||
		st.State != terminal.StateRunning || st.Dir != spec.Dir || !slices.Equal(st.Argv, spec.Argv) {
		f.Errorf("status %+v is not that of %+v", st, spec)
	}
	if st.Size.Cols != 91 || st.Size.Rows != 31 {
		f.Errorf("size %+v, want 91x31", st.Size)
	}
	if st.StartedAt.Before(before) || st.StartedAt.After(time.Now().Add(time.Second)) {
		f.Errorf("started at %v", st.StartedAt)
	}
	if want := fmt.Sprintf("pid %d.", st.PID); !strings.Contains(string(f.output(s, 0)), want) {
		f.Errorf("output %q, want %q", f.output(s, 0), want)
	}
	if !f.listed(spec.ID) {
		f.Error("the session is not listed")
	}
	f.ok(s.Input(f.ctx, []byte("\n")))
	f.ended(s)
	if !f.listed(spec.ID) {
		f.Error("the ended session is not listed")
	}
}

// testWrapper: a wrapper starts the program, and does not show.
func testWrapper(f *fixture) {
	spec := f.spec(f.path("sh"), "-c", `echo "$WRAPPED."; read x`)
	spec.Wrapper = []string{f.path("env"), "WRAPPED=by env"}
	s := f.start(spec)
	f.printed(s, "by env.")
	st, err := s.Status(f.ctx)
	f.ok(err)
	if !slices.Equal(st.Argv, spec.Argv) {
		f.Errorf("the status has argv %q, want %q", st.Argv, spec.Argv)
	}
	f.ok(s.Input(f.ctx, []byte("\n")))
	f.ended(s)
}

func testDirectory(f *fixture) {
	dir, err := filepath.EvalSymlinks(f.TempDir())
	f.ok(err)
	dir = filepath.Join(dir, "a 'b' \"c\" $d #{e} %H;")
	f.ok(os.Mkdir(dir, 0o700))
	spec := f.spec(f.path("sh"), "-c", "pwd -P >out")
	spec.Dir = dir
	f.ended(f.start(spec))
	got, err := os.ReadFile(filepath.Join(dir, "out"))
	f.ok(err)
	if string(got) != dir+"\n" {
		f.Errorf("directory %q, want %q", got, dir)
	}
}

func testEnvironment(f *fixture) {
	f.Setenv("MIDDLEMAN_BACKENDTEST_LEAK", "leaked")
	out := filepath.Join(f.TempDir(), "environment")
	spec := f.spec(f.path("sh"), "-c", `exec env -0 >"$OUT"`)
	spec.Env = []string{"PATH=" + os.Getenv("PATH"), "OUT=" + out, "LINES_OF=a\nb;c #{d} 'e' \"f\" $g %H\t\x01", "EMPTY="}
	f.ended(f.start(spec))
	b, err := os.ReadFile(out)
	f.ok(err)
	got := map[string]string{}
	for _, kv := range strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00") {
		k, v, _ := strings.Cut(kv, "=")
		if _, twice := got[k]; twice {
			f.Errorf("%s is set twice", k)
		}
		got[k] = v
	}
	for _, kv := range append(slices.Clone(spec.Env),
		"MIDDLEMAN_SESSION="+spec.ID, "MIDDLEMAN_WORKSPACE="+spec.Workspace, "COLORTERM=truecolor") {
		k, want, _ := strings.Cut(kv, "=")
		if v, ok := got[k]; !ok || v != want {
			f.Errorf("%s is %q, %v, want %q", k, v, ok, want)
		}
		delete(got, k)
	}
	if got["TERM"] == "" {
		f.Error("TERM is not set")
	}
	for _, k := range []string{"TERM", "PWD", "OLDPWD", "SHLVL", "_"} { // the last four are the shell's
		delete(got, k)
	}
	if len(got) > 0 {
		f.Errorf("the environment has also %q", got)
	}
}

func testStartTenTimes(f *fixture) {
	spec := f.spec(f.path("sh"), "-c", "echo one; read x")
	f.Cleanup(func() { f.stop(spec.ID) })
	var wg sync.WaitGroup
	got := make([]terminal.Status, 10)
	errs := make([]error, 10)
	for i := range got {
		b := f.h.New()
		wg.Go(func() { got[i], errs[i] = b.Start(f.ctx, spec) })
	}
	wg.Wait()
	for i := range got {
		f.ok(errs[i])
		if got[i].PID != got[0].PID || got[i].PID == 0 {
			f.Errorf("start %d has process %d, another has %d", i, got[i].PID, got[0].PID)
		}
	}
	s := f.b.Session(spec.ID)
	f.ok(s.Input(f.ctx, []byte("\n")))
	f.ended(s)
	if n := strings.Count(string(f.output(s, 0)), "one"); n != 1 {
		f.Errorf("the program ran %d times", n)
	}
}

func testFiftyAtOnce(f *fixture) {
	var wg sync.WaitGroup
	specs := make([]terminal.Spec, short(20, 50))
	errs := make([]error, len(specs))
	for i := range specs {
		specs[i] = f.spec(f.path("sh"), "-c", fmt.Sprintf("echo number %d; exit %d", i, i))
		wg.Go(func() { _, errs[i] = f.b.Start(f.ctx, specs[i]) })
	}
	wg.Wait()
	for i, spec := range specs {
		f.ok(errs[i])
		s := f.b.Session(spec.ID)
		if st := f.ended(s); st.Exit.Code != i {
			f.Errorf("exit code %d, want %d", st.Exit.Code, i)
		}
		if got, want := string(f.output(s, 0)), fmt.Sprintf("number %d\r\n", i); got != want {
			f.Errorf("output %q, want %q", got, want)
		}
		if !f.listed(spec.ID) {
			f.Errorf("session %d is not listed", i)
		}
	}
}

// refused starts a specification that cannot be, and checks that nothing is
// left of it.
func (f *fixture) refused(spec terminal.Spec) error {
	f.Helper()
	_, err := f.b.Start(f.ctx, spec)
	var start *terminal.StartError
	if !errors.As(err, &start) {
		f.Fatalf("start: %v, want a StartError", err)
	}
	if start.Session != spec.ID || start.Step == "" {
		f.Errorf("start error %+v names neither session nor step", start)
	}
	if f.listed(spec.ID) {
		f.Error("a session that did not start is listed")
	}
	_, statusErr := f.b.Session(spec.ID).Status(f.ctx)
	f.is("status", statusErr, terminal.ErrNotFound)
	return err
}

func testNoProgram(f *fixture) {
	missing := filepath.Join(f.TempDir(), "missing")
	f.is("start", f.refused(f.spec(missing)), fs.ErrNotExist)
	f.is("start", f.refused(f.spec("/")), fs.ErrPermission)
	f.refused(f.spec("relative"))
	f.refused(f.spec())
}

func testNoDirectory(f *fixture) {
	spec := f.spec(f.path("true"))
	spec.Dir = filepath.Join(f.TempDir(), "missing")
	err := f.refused(spec)
	f.is("start", err, fs.ErrNotExist)
	if !strings.Contains(err.Error(), spec.Dir) {
		f.Errorf("error %q does not name %s", err, spec.Dir)
	}
	spec.Dir = f.path("true") // a file
	f.refused(spec)
	spec.Dir = "relative"
	f.refused(spec)
}

func testUnknown(f *fixture) {
	s := f.b.Session(terminal.NewID("s"))
	_, err := s.Status(f.ctx)
	f.is("status", err, terminal.ErrNotFound)
	_, err = s.Attach(f.ctx, terminal.AttachOptions{Mode: terminal.ModeAttach})
	f.is("attach", err, terminal.ErrNotFound)
	f.is("input", s.Input(f.ctx, []byte("x")), terminal.ErrNotFound)
	_, err = s.Capture(f.ctx, terminal.CaptureOptions{Format: terminal.FormatText})
	f.is("capture", err, terminal.ErrNotFound)
	_, err = s.Output(f.ctx, 0)
	f.is("output", err, terminal.ErrNotFound)
	f.is("stop", s.Stop(f.ctx, 0), terminal.ErrNotFound)
	f.is("remove", s.Remove(f.ctx), terminal.ErrNotFound)
}

func testExits(f *fixture) {
	for _, tt := range []struct {
		script       string
		code, signal int
		name         string
		shell        int
	}{
		{"exit 0", 0, 0, "", 0},
		{"exit 7", 7, 0, "", 7},
		{"exit 42", 42, 0, "", 42},
		{"kill -9 $$", -1, 9, "SIGKILL", 137},
		{"kill -15 $$", -1, 15, "SIGTERM", 143},
	} {
		s := f.sh("echo bye; " + tt.script)
		st := f.ended(s)
		e := *st.Exit
		if e.Code != tt.code || e.Signal != tt.signal || e.SignalName != tt.name || e.Status() != tt.shell {
			f.Errorf("%s: exit %+v", tt.script, e)
		}
		if e.Offset != uint64(len("bye\r\n")) || st.Head != e.Offset || st.PID != 0 || e.Time.IsZero() {
			f.Errorf("%s: exit %+v of status %+v", tt.script, e, st)
		}
		f.is("input", s.Input(f.ctx, []byte("x")), terminal.ErrEnded)
		// A server that was down at the time knows it too.
		again, err := f.h.New().Session(st.ID).Status(f.ctx)
		f.ok(err)
		if again.Exit == nil || !again.Exit.Time.Equal(e.Time) || again.Exit.Status() != tt.shell {
			f.Errorf("%s: a new backend has exit %+v, want %+v", tt.script, again.Exit, e)
		}
	}
}

func testExitAttached(f *fixture) {
	s := f.sh("echo READY; read x; echo LAST; exit 42")
	v := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	w := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeWatch})
	v.shows("READY")
	v.types("\r")
	for _, v := range []*viewer{v, w} {
		if e := v.ends(terminal.MessageExit).Exit; e.Code != 42 {
			f.Errorf("exit %+v, want code 42", e)
		}
		v.shows("LAST")
	}
	// The record was there before anybody was told.
	st, err := s.Status(f.ctx)
	f.ok(err)
	if st.State != terminal.StateExited || st.Exit.Code != 42 {
		f.Errorf("status after the exit was told: %+v", st)
	}
	if err := v.a.Input([]byte("x")); err == nil {
		f.Error("input after the exit was taken")
	}
	// That viewers keep the owner does not make it run.
	again := f.spec("true")
	again.ID = st.ID
	_, err = f.b.Start(f.ctx, again)
	f.is("start of an ended session", err, terminal.ErrEnded)
}

// testExitBackground: a job that keeps the terminal open delays no exit.
func testExitBackground(f *fixture) {
	pids := filepath.Join(f.TempDir(), "pids")
	s := f.sh(`sh -c 'trap "" HUP; echo $$ >` + pids + `.new; mv ` + pids + `.new ` + pids + `; exec sleep 1000' &
		while ! [ -e ` + pids + ` ]; do sleep 0.01; done; echo bye; exit 7`)
	f.Cleanup(func() {
		b, err := os.ReadFile(pids)
		f.ok(err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		f.ok(err)
		unix.Kill(pid, unix.SIGKILL) // it is ours, and has a thousand seconds
	})
	if st := f.ended(s); st.Exit.Code != 7 {
		f.Errorf("exit %+v, want code 7", st.Exit)
	}
	if got := string(f.output(s, 0)); got != "bye\r\n" {
		f.Errorf("output %q", got)
	}
}

func testStop(f *fixture) {
	s := f.sh(`echo READY; while :; do read x; done`)
	f.printed(s, "READY")
	st, err := s.Status(f.ctx)
	f.ok(err)
	f.ok(s.Stop(f.ctx, 0))
	if err := unix.Kill(st.PID, 0); !errors.Is(err, unix.ESRCH) {
		f.Errorf("the program's process: %v, want %v", err, unix.ESRCH)
	}
	if got := f.ended(s); got.Exit.Signal == 0 {
		f.Errorf("exit %+v, want by a signal", got.Exit)
	}
	f.ok(s.Stop(f.ctx, 0)) // again is no error
}

func testStopStragglers(f *fixture) {
	spec := f.spec(f.path("sh"), "-c", `
		straggle='trap "" HUP TERM; echo $$ >>"$PIDS"; exec sleep 1000'
		trap "" HUP TERM
		sh -c "$straggle" &
		nohup sh -c "$straggle" >"$PIDS.out" 2>&1 &
		setsid sh -c "$straggle" &
		(setsid sh -c "$straggle" &) &
		while [ "$(wc -l <"$PIDS")" -lt 4 ]; do sleep 0.01; done
		echo READY
		while :; do sleep 1000; done`)
	pids := filepath.Join(f.TempDir(), "pids")
	f.ok(os.WriteFile(pids, nil, 0o600))
	spec.Env = append(spec.Env, "PIDS="+pids)
	s := f.start(spec)
	f.printed(s, "READY")
	st, err := s.Status(f.ctx)
	f.ok(err)
	f.ok(s.Stop(f.ctx, 50*time.Millisecond))
	b, err := os.ReadFile(pids)
	f.ok(err)
	all := append(strings.Fields(string(b)), strconv.Itoa(st.PID))
	if len(all) != 5 {
		f.Fatalf("%d processes, want 5", len(all))
	}
	for _, field := range all {
		pid, err := strconv.Atoi(field)
		f.ok(err)
		if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
			f.Errorf("process %d: %v, want %v", pid, err, unix.ESRCH)
		}
	}
	if got := f.ended(s); got.Exit.Signal != int(unix.SIGKILL) {
		f.Errorf("exit %+v, want by SIGKILL", got.Exit)
	}
}

func testRemove(f *fixture) {
	s := f.sh("echo READY; read x")
	f.printed(s, "READY")
	f.is("remove of a running session", s.Remove(f.ctx), terminal.ErrRunning)
	st, err := s.Status(f.ctx)
	f.ok(err)
	if st.State != terminal.StateRunning {
		f.Errorf("state %s after a refused remove", st.State)
	}
	f.ok(s.Input(f.ctx, []byte("\n")))
	f.ended(s)
	f.ok(s.Remove(f.ctx))
	if f.listed(st.ID) {
		f.Error("the removed session is listed")
	}
	_, err = s.Status(f.ctx)
	f.is("status", err, terminal.ErrNotFound)
}

func testRestart(f *fixture) {
	s := f.sh(`echo READY; while read x; do echo "got $x."; done`)
	v := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	v.shows("READY")
	v.types("one\r")
	v.shows("got one.")
	before, err := s.Status(f.ctx)
	f.ok(err)
	v.close()

	again := f.h.New()
	ids, err := again.List(f.ctx)
	f.ok(err)
	if !slices.Equal(ids, []string{before.ID}) {
		f.Fatalf("a new backend lists %q, want %q", ids, before.ID)
	}
	s = again.Session(before.ID)
	after, err := s.Status(f.ctx)
	f.ok(err)
	if after.PID != before.PID || after.State != terminal.StateRunning || after.Head < before.Head {
		f.Errorf("status %+v before and %+v after", before, after)
	}
	v = f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	v.shows("got one.")
	v.types("two\r")
	v.shows("got two.")
	if n := bytes.Count(f.output(s, 0), []byte("READY")); n != 1 {
		f.Errorf("READY is %d times in the output", n)
	}
}
