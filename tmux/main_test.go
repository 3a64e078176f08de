//go:build unix

package tmux

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"middleman/terminal/backendtest"
)

// TestMain runs the helper commands for the sessions of these tests: the
// backend runs this very program for them.
func TestMain(m *testing.M) {
	if IsHelper(os.Args[1:]) {
		os.Exit(Main(os.Args[1:]))
	}
	if backendtest.IsProgram() {
		os.Exit(backendtest.Main())
	}
	goleak.VerifyTestMain(m)
}

// needTmux skips where there is no tmux, and fails where there has to be.
func needTmux(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("tmux is not installed, and CI=true")
	}
	t.Skip("tmux is not installed: apt-get install tmux")
}

// shortDir is a temporary directory whose path leaves room for a socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mm-tmux-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// newBackend returns a Backend on directories of its own. At the end it stops
// and removes every session and ends the tmux server.
func newBackend(t testing.TB) *Backend {
	t.Helper()
	needTmux(t)
	root := shortDir(t)
	o := Options{
		Sessions: filepath.Join(root, "sessions"), Runtime: filepath.Join(root, "run"),
		Config: filepath.Join(root, "config"),
	}
	b := New(o)
	t.Cleanup(func() { cleanUp(t, b) })
	return b
}

func cleanUp(t testing.TB, b *Backend) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ids, err := b.List(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, id := range ids {
		if err := b.Session(id).Stop(ctx, -1); err != nil {
			t.Error(err)
		}
	}
	srv := server{tmux: "tmux", socket: b.socket()}
	if srv.listening() {
		srv.run(ctx, nil, "kill-server") // it may be ending by itself
	}
}
