package systemd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/internal/testenv"
)

// A scope itself takes a systemd: scripts/systemd-test.sh boots one. Here is
// what has to be right where it cannot be had.

// touch is a command that leaves a mark when it runs.
func touch(mark string) *exec.Cmd {
	cmd := exec.Command("touch", mark)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	return cmd
}

func TestNothingRunsWithoutItsScope(t *testing.T) {
	tests := []struct{ name, systemdRun, want string }{
		{"refused", "echo Failed to start: Access denied >&2; exit 1", "Failed to start: Access denied"},
		{"silent", "exit 1", "without a message"},
		// What comes after -- becomes the process, in no scope.
		{"a liar", `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`, "left process"},
		{"stuck", "echo >\"${0%/*}/stuck\"; exec sleep 1000", "wait for systemd-run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			run, mark := filepath.Join(dir, "systemd-run"), filepath.Join(dir, "mark")
			testenv.WriteProgram(t, run, "#!/bin/sh\n"+tt.systemdRun+"\n")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.name == "stuck" {
				var waiting sync.WaitGroup
				defer waiting.Wait()
				waiting.Go(func() {
					testenv.Eventually(t, time.Minute, "systemd-run begins", func() bool {
						_, err := os.Stat(filepath.Join(dir, "stuck"))
						return err == nil
					})
					cancel()
				})
			}
			cmd := touch(mark)
			err := startGated(ctx, "middleman-none.scope", cmd, run, manager{flag: "--user", runtime: dir})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if cmd.ProcessState == nil {
				t.Error("a process was left behind")
			}
			if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the command ran: %v", err)
			}
		})
	}
}

// A scope is told what to do when memory runs out, where systemd knows of that.
func TestScopeOutlivesAProcessKilledForMemory(t *testing.T) {
	for _, tt := range []struct {
		said string
		want bool
	}{
		{"systemd 252 (252.38-1~deb12u1)", false},
		{"systemd 253 (253.5-1)", true},
		{"systemd 257~rc1 (257)", true},
		{"something else", false},
		{"", false},
	} {
		dir := t.TempDir()
		run := filepath.Join(dir, "systemd-run")
		script := "#!/bin/sh\nif [ $1 = --version ]; then echo '" + tt.said + "'; else echo $* >" + dir + "/asked; fi\n"
		testenv.WriteProgram(t, run, script)
		if err := startGated(t.Context(), "middleman-none.scope", touch("/none"), run, manager{flag: "--user", runtime: dir}); err == nil {
			t.Fatal("started without a scope")
		}
		asked, err := os.ReadFile(dir + "/asked")
		if err != nil || strings.Contains(string(asked), " --property=OOMPolicy=continue -- /bin/sh ") != tt.want {
			t.Errorf("%q: asked for %q, %v", tt.said, asked, err)
		}
	}
}

// Behind the gate a command has its streams, descriptors and environment as
// without one. Here the gate is passed in the unit that this process is in.
func TestCommandBehindTheGate(t *testing.T) {
	unit, err := UnitOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(t.TempDir(), "systemd-run")
	script := "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"\n"
	testenv.WriteProgram(t, run, script)
	plain := whatItHas(t, (*exec.Cmd).Start)
	gated := whatItHas(t, func(cmd *exec.Cmd) error {
		return startGated(t.Context(), unit.Name, cmd, run, manager{flag: "--user", runtime: "/nowhere"})
	})
	if gated != plain {
		t.Errorf("got  %q\nwant %q", gated, plain)
	}
}

// Outside of a service a command is started once, as it is.
func TestStartOutsideOfServices(t *testing.T) {
	if unit, err := UnitOf(os.Getpid()); err != nil || unit.Service() {
		t.Skipf("this process is in %q: %v", unit.Name, err)
	}
	calls := 0
	whatItHas(t, func(cmd *exec.Cmd) error {
		_, outside, err := Start(t.Context(), "middleman-none.scope", func() *exec.Cmd { calls++; return cmd })
		if outside != nil || calls != 1 {
			t.Errorf("outside %v, %d calls", outside, calls)
		}
		return err
	})
}

// whatItHas starts a command and returns what that says of itself.
func whatItHas(t *testing.T, start func(*exec.Cmd) error) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", `cat; cat <&3; env; echo "$1" >&2; exec ls -v /proc/self/fd`, "sh", `it's $HOME "%h"`)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "ODD=a 'b' $c\nd"}
	cmd.Stdin = strings.NewReader("from stdin\n")
	cmd.ExtraFiles = []*os.File{r}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	w.WriteString("from 3\n")
	w.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	out := stdout.String()
	for _, want := range []string{"from stdin\nfrom 3\n", "ODD=a 'b' $c\nd\n", "0\n1\n2\n3\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	if got := stderr.String(); got != "it's $HOME \"%h\"\n" {
		t.Errorf("standard error: %q", got)
	}
	return out
}
