//go:build unix

package ptyowner_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/tmux"
)

// hostVariable names the host that the tests of this package run on: nothing
// or tmux.
const hostVariable = "MIDDLEMAN_TEST_HOST"

// onTmux reports whether the sessions of this run are in panes.
func onTmux() bool { return os.Getenv(hostVariable) == tmux.Name }

// newBackend returns a Backend whose sessions have the host under test. At the
// end of the test its tmux server is ended.
func newBackend(t testing.TB, o ptyowner.Options) *ptyowner.Backend {
	t.Helper()
	if !onTmux() {
		return ptyowner.New(o)
	}
	program := testenv.RequireTool(t, "tmux")
	socket := filepath.Join(o.Runtime, "tmux.sock")
	t.Cleanup(func() {
		if _, err := os.Lstat(socket); err == nil {
			exec.Command(program, "-S", socket, "kill-server").Run() // it may have ended
		}
	})
	return ptyowner.New(withHost(o))
}

// withHost is o with the host under test.
func withHost(o ptyowner.Options) ptyowner.Options {
	if onTmux() {
		o.Host = tmux.New(tmux.Options{Sessions: o.Sessions, Runtime: o.Runtime})
	}
	return o
}

// termName is what the program's terminal is called on the host under test.
func termName() string {
	if onTmux() {
		return "tmux-256color"
	}
	return "xterm-256color"
}

// loseOwner kills a session's owner so that none comes after it: on tmux the
// launcher too, where it would start one.
func loseOwner(t *testing.T, data, id string) {
	t.Helper()
	victims := []int{ownerPID(t, data, id)}
	if onTmux() {
		if err := testenv.Freeze(victims[0]); err != nil {
			t.Fatal(err)
		}
		victims = append(launchers(t, data, id), victims...)
	}
	for i, pid := range victims {
		if err := syscall.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if i < len(victims)-1 {
			testenv.Eventually(t, time.Minute, "end of the launcher", func() bool { return syscall.Kill(pid, 0) != nil })
		}
	}
}

// launchers are the processes of a session's pane: one, or none where it has
// ended.
func launchers(t *testing.T, data, id string) (pids []int) {
	t.Helper()
	out, err := exec.Command("tmux", "-S", filepath.Join(data, "run", "tmux.sock"),
		"list-panes", "-a", "-F", "#{@middleman_pane} #{pane_pid}").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var pane string
		var pid int
		if n, _ := fmt.Sscan(line, &pane, &pid); n == 2 && pane == id {
			pids = append(pids, pid)
		}
	}
	return pids
}
