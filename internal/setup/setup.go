// Package setup runs the commands of a repository's configuration: those that
// the user agreed to, one after the other, within a time, with what they print
// in a file.
//
// Nothing that they start outlives them, in whichever way they end: what a
// workspace needs for longer is a session of it. Processes are found by their
// group, and on Linux by a mark in their environment, so also where they have
// left the group, and by a later server where the one that started them was
// killed. A process that has emptied its environment and left the group is not
// found.
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
)

// Spec is what to run.
type Spec struct {
	Commands []string // for the shell, one after the other; the first that fails is the last
	Dir      string
	Env      []string // all of it but Mark
	// Mark is NAME=value, with a value that is nobody else's.
	Mark string
	// Log is the file that takes the output, made anew with mode 0600.
	Log string
	// Timeout is for all commands together.
	Timeout time.Duration
}

// Run runs the commands and returns when nothing of them is left. last is what
// they printed last, on one line, also beside an error, which names the command
// that failed. Where ctx ends, or the time, they are ended.
func Run(ctx context.Context, s Spec) (last string, err error) {
	log, err := createLog(s.Log)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, log.close()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("it was ended after %s: %w", s.Timeout, os.ErrDeadlineExceeded))
	defer cancel()
	for _, command := range s.Commands {
		fmt.Fprintf(log, "$ %s\n", command)
		if err := s.run(ctx, command, log); err != nil {
			return log.last(), fmt.Errorf("%q: %w", command, err)
		}
	}
	return log.last(), nil
}

// run runs one command. It writes to a pipe of ours, so that whoever else
// holds that does not keep us.
func (s Spec) run(ctx context.Context, command string, log io.Writer) error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := shell(command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, in, in
	cmd.Env = append(append([]string{}, s.Env...), s.Mark)
	ownGroup(cmd)
	err = cmd.Start()
	_ = in.Close() // the command has its own
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
		_ = out.Close() // or a command that prints on would wait for somebody who reads
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
	_ = out.Close() // which ends the copying
	<-read
	return err
}

// await waits for the command, and ends it where ctx ends first.
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
