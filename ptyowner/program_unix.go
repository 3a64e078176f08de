//go:build unix

package ptyowner

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
	"middleman/terminal/host"
)

// stateUmask closes what the owner itself makes to everybody else.
const stateUmask = 0o077

// waitStatus is how the program ended, and when that was seen.
type waitStatus struct {
	unix.WaitStatus
	at time.Time
}

// startProgram has the host start the program. On error it returns the step
// that did not work.
func (o *owner) startProgram() (step string, err error) {
	if err := checkProgram(o.spec); err != nil {
		return "check program", err
	}
	o.term, o.pid, step, err = ptyHost{}.Start(host.Program{Spec: o.spec, Size: o.size, Umask: o.umask, CoreLimit: o.core})
	return step, err
}

// checkProgram tells a missing directory from a missing program, which
// execve(2) does not.
func checkProgram(spec terminal.Spec) error {
	if len(spec.Argv) == 0 {
		return errors.New("no program given")
	}
	if !filepath.IsAbs(spec.Argv[0]) {
		return fmt.Errorf("program %q is not an absolute path", spec.Argv[0])
	}
	if info, err := os.Stat(spec.Dir); err != nil {
		return fmt.Errorf("working directory: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("working directory %s is not a directory", spec.Dir)
	}
	return nil
}

// programEnv is the program's environment: what the specification says, and
// what the terminal and the session are, each variable once.
func programEnv(spec terminal.Spec) []string {
	ours := []string{"TERM=xterm-256color", "COLORTERM=truecolor", "MIDDLEMAN_SESSION=" + spec.ID}
	if spec.Workspace != "" {
		ours = append(ours, "MIDDLEMAN_WORKSPACE="+spec.Workspace)
	}
	env := slices.DeleteFunc(slices.Clone(spec.Env), func(given string) bool {
		name, _, _ := strings.Cut(given, "=")
		return slices.ContainsFunc(ours, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	})
	return append(env, ours...)
}

// catchSignals keeps the owner alive when its terminal or its starter goes,
// and undoes what was ignored before: a signal that is caught is back at its
// default in the program, an ignored one would stay ignored.
func catchSignals() {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught) // all that can be; nobody reads them
	resetIgnored()
}

// reaped notes that a process of the session has ended, maybe the program.
// Called with mu held.
func (o *owner) reaped(pid int, status unix.WaitStatus) {
	if pid == o.pid {
		o.end = &waitStatus{status, time.Now()}
		o.term.LetEnd()
	}
	o.reapCount.Add(1)
	o.broadcast() // something of the session has ended
}
