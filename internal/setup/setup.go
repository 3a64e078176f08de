// Package setup runs the setup, teardown or check commands of a repository's
// configuration, which the user has approved. It runs them one after the other,
// with a time limit, and writes their output to a file.
//
// No process that a command starts outlives it, however it ends: what a workspace
// needs for longer must be a session. Processes are found by their process group
// and, on Linux, also by a mark in their environment. By the mark, they are found
// when they have left the group, and by a later server when the one that started
// them was killed. A process that has emptied its environment and left the group
// is not found.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"middleman/internal/contain"
	"middleman/internal/fault"
)

const (
	grace = 5 * time.Second // from SIGTERM to SIGKILL
	drain = time.Second     // for output that is still in the pipe

	tellEvery = time.Second / 2
)

// Spec says what to run.
type Spec struct {
	Commands []string // shell command lines, run in order until one fails
	// Wrapper is the beginning of the command line that starts each in a sandbox, nil
	// for none.
	Wrapper []string
	Dir     string
	Env     []string // the whole environment, except for Mark
	// Mark is a variable NAME=value that no other process has.
	Mark string
	// Log is the path of the file for the output. It is emptied first; a new file
	// gets mode 0600.
	Log string
	// Timeout bounds all commands together.
	Timeout time.Duration
	// Tell, unless nil, is called with the last line of the output while the
	// commands run: when it has changed, and not more than once in tellEvery.
	Tell func(line string)
}

// Run runs the commands, and blocks until none of their processes is left. If ctx
// ends or the timeout is over, it ends them: first with SIGTERM, after 5 seconds
// with SIGKILL. last has the last lines of the output, joined to one line, also
// when there is an error. The error names the command that failed.
func Run(ctx context.Context, s Spec) (last string, err error) {
	log, err := createLog(s.Log)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, log.close()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("it was ended after %s: %w", s.Timeout, os.ErrDeadlineExceeded))
	defer cancel()
	stop := s.follow(log)
	defer func() { err = errors.Join(err, stop()) }()
	for _, command := range s.Commands {
		fmt.Fprintf(log, "$ %s\n", command)
		if err := s.run(ctx, command, log); err != nil {
			return log.last(lines), fmt.Errorf("%q: %w", command, err)
		}
	}
	return log.last(lines), nil
}

// follow begins to call Tell. stop ends that, and waits for the last call.
func (s Spec) follow(log *logFile) (stop func() error) {
	if s.Tell == nil {
		return func() error { return nil }
	}
	end, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- contain.Call(func() error { return s.tell(log, end) }) }()
	return func() error {
		close(end)
		return <-ended
	}
}

// tell calls Tell until end is closed.
func (s Spec) tell(log *logFile, end <-chan struct{}) error {
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	told := ""
	for {
		select {
		case <-end:
			return nil
		case <-tick.C:
		}
		if line := log.last(1); line != told {
			told = line
			s.Tell(line)
		}
	}
}

// run runs one command. The command writes to a pipe, not to a file of cmd, so
// that another process that still has the pipe open does not keep run waiting.
func (s Spec) run(ctx context.Context, command string, log io.Writer) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := shell(s.Wrapper, command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, in, in
	cmd.Env = append(append([]string{}, s.Env...), s.Mark)
	ownGroup(cmd)
	err = cmd.Start()
	_ = in.Close() // the command has its own copy
	if err != nil {
		return err
	}
	fault.Here("setup/started")
	read := make(chan error, 1)
	go func() {
		err := contain.Call(func() error {
			fault.Here("setup/read")
			_, err := io.Copy(log, out)
			return err
		})
		_ = out.Close() // else a command that goes on printing would block
		read <- err
	}()
	err = await(ctx, cmd)
	killGroup(cmd)
	err = errors.Join(err, End(s.Mark))
	select {
	case readErr := <-read:
		return errors.Join(err, readErr)
	case <-time.After(drain):
	}
	_ = out.Close() // ends the copying
	<-read
	return err
}

// await waits for the command. If ctx ends first, it ends the command and returns
// the cause.
func await(ctx context.Context, cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	endGroup(cmd)
	select {
	case <-ended:
	case <-time.After(grace):
		killGroup(cmd)
		<-ended
	}
	return context.Cause(ctx)
}
