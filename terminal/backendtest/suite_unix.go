//go:build unix

package backendtest

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"middleman/terminal"
)

// patience is how long the suite waits for anything; it is long because the
// machine may be busy, and costs nothing where all is well.
const patience = 60 * time.Second

// Harness is a backend under test.
type Harness struct {
	// New returns a further Backend on the same directories, as a server has
	// that was started again.
	New func() terminal.Backend
	// Viewer is the command line of a process that watches a session from an
	// offset and prints its output, and nothing else; on standard error it says
	// why it cannot.
	Viewer func(id string, from uint64) []string
	// SocketDir returns an empty directory, removed after the test, whose path
	// leaves room for the name of a socket.
	SocketDir func() string
}

// Run runs the suite. newHarness is called for each test with directories of
// its own and cleans up by t.Cleanup; the suite stops what it has started.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	for _, tt := range []struct {
		name string
		run  func(*fixture)
	}{
		{"usable", testUsable},
		{"start", testStart},
		{"start by a wrapper", testWrapper},
		{"start in the exact directory", testDirectory},
		{"start with the exact environment", testEnvironment},
		{"names of the environment", testEnvironmentNames},
		{"link to the SSH agent", testAgentLink},
		{"start one id ten times at once", testStartTenTimes},
		{"start fifty at once", testFiftyAtOnce},
		{"start a program that does not exist", testNoProgram},
		{"start in a directory that does not exist", testNoDirectory},
		{"unknown session", testUnknown},
		{"exit codes and signals", testExits},
		{"exit while attached", testExitAttached},
		{"exit with a background job", testExitBackground},
		{"attach after the exit", testAttachEnded},
		{"attach", testAttach},
		{"attach from an offset", testAttachFrom},
		{"watch", testWatch},
		{"watch for events alone", testWatchEvents},
		{"ask over an attachment", testAttachmentAsks},
		{"watch for activity", testWatchActivity},
		{"clipboard", testClipboard},
		{"close wakes receive", testClose},
		{"second writer", testSecondWriter},
		{"takeover", testTakeover},
		{"resize", testResize},
		{"job control", testJobControl},
		{"input of every byte", testInputBytes},
		{"input of 1 MB", testInputLarge},
		{"input of 1 MB while attached", testInputAttached},
		{"output of 50 MB", testOutputLarge},
		{"output at once before the exit", testOutputTail},
		{"output by offset", testOutputOffsets},
		{"capture", testCapture},
		{"progress", testProgress},
		{"wait", testWait},
		{"wait from an offset", testWaitFrom},
		{"follow", testFollow},
		{"input that expects a screen", testExpect},
		{"input that expects rows", testExpectRows},
		{"input that expects what does not move", testExpectSteady},
		{"input that expects quiet", testExpectIdle},
		{"input that is not read", testExpectNotRead},
		{"input that is read in part while output is held", testExpectHeldPart},
		{"input while a dialog appears", testExpectDialog},
		{"past", testPast},
		{"past of a session that runs", testPastLive},
		{"stop", testStop},
		{"stop keys", testStopKeys},
		{"stop keys and another job", testStopKeysJob},
		{"stop keys, two stops", testStopTwice},
		{"stop leaves nothing behind", testStopStragglers},
		{"stop what outlives the program", testLeft},
		{"remove", testRemove},
		{"restart of the server", testRestart},
		{"fork bomb", testForkBomb},
		{"5000 rows", testRows},
		{"resize in the middle", testResizeInTheMiddle},
		{"paste of 200 KB", testPaste},
		{"watch of a larger full screen", testWatchFullScreen},
		{"killed viewers", testKilledViewers},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t)
			ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
			t.Cleanup(cancel)
			f := &fixture{T: t, ctx: ctx, h: h, b: h.New()}
			tt.run(f)
		})
	}
}

// short is how much of something a short run has, and how much any other.
func short(few, all int) int {
	if testing.Short() {
		return few
	}
	return all
}

// fixture is what each test has.
type fixture struct {
	*testing.T
	ctx context.Context
	h   Harness
	b   terminal.Backend
}

// ok ends the test when err is not nil.
func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// is reports an error that is not target.
func (f *fixture) is(what string, err, target error) {
	f.Helper()
	if !errors.Is(err, target) {
		f.Errorf("%s: %v, want %v", what, err, target)
	}
}

// spec returns a specification that runs argv.
func (f *fixture) spec(argv ...string) terminal.Spec {
	return terminal.Spec{
		ID: terminal.NewID("s"), Workspace: terminal.NewID("w"), Argv: argv,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.TempDir()},
		Dir: "/", Size: terminal.DefaultSize, Grace: 2 * time.Second,
	}
}

// start starts a session, which is stopped when the test ends.
func (f *fixture) start(spec terminal.Spec) terminal.Session {
	f.Helper()
	_, err := f.b.Start(f.ctx, spec)
	f.ok(err)
	s := f.b.Session(spec.ID)
	f.Cleanup(func() { f.stop(spec.ID) })
	return s
}

func (f *fixture) stop(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := f.b.Session(id).Stop(ctx, -1); err != nil && !errors.Is(err, terminal.ErrNotFound) {
		f.Errorf("stop at the end of the test: %v", err)
	}
}

// sh starts a session that runs a shell script.
func (f *fixture) sh(script string) terminal.Session {
	f.Helper()
	return f.start(f.spec(f.path("sh"), "-c", script))
}

func (f *fixture) path(name string) string {
	f.Helper()
	path, err := exec.LookPath(name)
	f.ok(err)
	return path
}

// eventually waits for a condition of which nothing tells.
func (f *fixture) eventually(what string, is func() bool) {
	f.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-deadline.C:
			f.Fatalf("not after %v: %s", patience, what)
		case <-tick.C:
		}
	}
}

// ended waits for the exit of a session.
func (f *fixture) ended(s terminal.Session) terminal.Status {
	f.Helper()
	var st terminal.Status
	f.eventually("exit", func() bool {
		var err error
		st, err = s.Status(f.ctx)
		f.ok(err)
		return st.State.Ended()
	})
	if st.State != terminal.StateExited || st.Exit == nil {
		f.Fatalf("ended as %s with exit %v, want %s with an exit", st.State, st.Exit, terminal.StateExited)
	}
	return st
}

// output reads all that is kept from an offset.
func (f *fixture) output(s terminal.Session, from uint64) []byte {
	f.Helper()
	r, err := s.Output(f.ctx, from)
	f.ok(err)
	defer r.Close()
	b, err := io.ReadAll(r)
	f.ok(err)
	return b
}

// printed waits until the session has printed text.
func (f *fixture) printed(s terminal.Session, text string) {
	f.Helper()
	f.eventually("output "+text, func() bool { return strings.Contains(string(f.output(s, 0)), text) })
}

// listed reports whether the backend lists the session.
func (f *fixture) listed(id string) bool {
	f.Helper()
	ids, err := f.b.List(f.ctx)
	f.ok(err)
	return slices.Contains(ids, id)
}
