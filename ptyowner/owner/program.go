package owner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"middleman/ptyowner/state"
	"middleman/terminal"
	"middleman/terminal/host"
)

// stateUmask makes the owner's files accessible only to this user.
const stateUmask = 0o077

// waitStatus is how the program ended, and when the owner saw that.
type waitStatus struct {
	host.WaitStatus
	at time.Time
}

// startProgram lets the host start the program. On error, step is the step that
// failed.
func (o *owner) startProgram(req state.StartRequest) (step string, err error) {
	if err := checkProgram(o.spec); err != nil {
		return "check program", err
	}
	o.term, o.pid, step, err = o.host.Start(host.Program{
		Spec: o.spec, Size: o.size, Umask: o.umask, CoreLimit: o.core,
		Dir: o.dir.Path, Socket: strings.TrimSuffix(o.socket, ".sock") + ".host", Config: req.HostConfig, Again: again(req),
	})
	o.spec.Env = nil // only the program needs it
	return step, err
}

// again returns the standard input for an owner that replaces this one if it is
// killed: the start request without the environment, which only the program
// needs.
func again(r state.StartRequest) []byte {
	r.Spec.Env, r.HostConfig = nil, nil
	return mustMarshal(r)
}

// checkProgram tells a missing directory from a missing program, which
// execve(2) does not distinguish.
func checkProgram(spec terminal.Spec) error {
	if len(spec.Argv) == 0 {
		return errors.New("no program given")
	}
	for _, argv := range [][]string{spec.Argv, spec.Command()} {
		if !filepath.IsAbs(argv[0]) {
			return fmt.Errorf("program %q is not an absolute path", argv[0])
		}
	}
	if info, err := os.Stat(spec.Dir); err != nil {
		return fmt.Errorf("working directory: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("working directory %s is not a directory", spec.Dir)
	}
	return nil
}

// reaped records that a process of the session, maybe the program, has ended.
// Called with mu held.
func (o *owner) reaped(pid int, status host.WaitStatus) {
	if pid == o.pid {
		o.end = &waitStatus{status, time.Now()}
		o.term.LetEnd()
	}
	o.reapCount.Add(1)
	o.broadcast() // something of the session has ended
}
