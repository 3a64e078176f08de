package admin

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/config"
	"middleman/internal/private"
)

// restartError is the error of serve if a request asked for a restart. It says how
// to start again.
type restartError struct {
	executable string
	args       []string
	program    string // the one that goes on in place of executable, or ""
	why        error  // why executable cannot be started again, or nil
}

func (e *restartError) Error() string { return "the server is to be started again" }

// restartOf returns how to start this server again: by the path that it was called
// by, which may lead to another build by then.
func restartOf(o serveOptions) *restartError {
	exe, err := stableExecutable()
	args := slices.Clone(os.Args)
	if !o.again {
		args = append(args, "--again")
	}
	return &restartError{executable: exe, args: args, why: err}
}

// ender returns a function that ends the server by end. canStart says why it could not
// start again.
func (e *restartError) ender(end context.CancelCauseFunc, canStart func() error) func(restart bool, program string) error {
	return func(restart bool, program string) error {
		if !restart {
			end(nil)
			return nil
		}
		why := cmp.Or(e.why, e.gone())
		if program != "" {
			why = usable(program)
		}
		if err := cmp.Or(restartable(), why); err != nil {
			return err
		}
		if err := canStart(); err != nil {
			return err
		}
		again := *e
		again.program = program
		end(&again)
		return nil
	}
}

// gone returns an error if the server's program is not there any more.
func (e *restartError) gone() error {
	if _, err := os.Stat(e.executable); err != nil {
		return fmt.Errorf("the server's own program cannot be started again: %w: `middleman server restart --program FILE` goes on with another middleman", err)
	}
	return nil
}

// usable returns why a program cannot go on as the server.
func usable(program string) error {
	if !filepath.IsAbs(program) {
		return fmt.Errorf("the program %q has no absolute path", program)
	}
	if err := private.Trusted(program); err != nil {
		return err
	}
	_, err := exec.LookPath(program)
	return err
}

// listenAt makes the next start take the address that a port of 0 has become, so
// that browsers find the server again.
func (e *restartError) listenAt(o serveOptions, address string) {
	if _, port, err := net.SplitHostPort(o.listen); err == nil && port == "0" {
		e.args = append(e.args, "--listen="+address)
	}
}

// waiting returns the settings that were changed since the server read them, less
// those that its flags replace, and those that only the command line reads.
func (c commands) waiting(o serveOptions) ([]string, error) {
	now, err := config.Load(c.Dirs.File())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, k := range config.Changed(c.Config, now) {
		group, _, _ := strings.Cut(k.Key, ".")
		flagged := k.Key == "listen" && o.fixed || group == "tls" && o.flagged
		live := k.Live && k.Key != "env.forward" && k.Key != "env.deny" // of these the server takes a part
		if !flagged && !live {
			names = append(names, k.Key)
		}
	}
	return names, nil
}
