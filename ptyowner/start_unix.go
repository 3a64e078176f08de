//go:build unix

package ptyowner

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"

	"middleman/internal/fault"
	"middleman/internal/private"
	"middleman/internal/proc"
	"middleman/internal/systemd"
	"middleman/ptyowner/state"
)

func usable() error { return nil }

// spawnOwner starts the owner, in a systemd scope of its own if this process runs
// in a service.
func spawnOwner(ctx context.Context, run executable, d state.Dir, spec []byte, log, report *os.File, startLock private.LockFile) (*exec.Cmd, error) {
	cmd, outside, err := systemd.Start(ctx, systemd.SessionScope(d.ID), func() *exec.Cmd { return ownerCommand(run, d, spec, log, report, startLock) })
	if outside != nil {
		state.Note(log, "the session ends with the server's unit: %v", outside)
	}
	return cmd, err
}

// stopReading makes a read of the owner's report return.
func stopReading(ready *os.File, _ *exec.Cmd) { ready.SetReadDeadline(time.Now()) }

// ownerCommand returns the command that runs the owner. The owner reads spec
// from stdin, logs to log, reports on report, and closes startLock when it holds its own.
func ownerCommand(run executable, d state.Dir, spec []byte, log, report, startLock *os.File) *exec.Cmd {
	// Never exec.CommandContext: an owner outlives every context.
	cmd := exec.Command(run.path, "pty-owner", d.Path) // the path is there to be seen in ps(1)
	cmd.Args[0] = "middleman"
	cmd.Dir = "/"
	// The Go runtime allocates memory for each processor that it may use.
	cmd.Env = append(fault.Env(), "PATH=/usr/local/bin:/usr/bin:/bin", "GOMAXPROCS=2")
	cmd.Stdin = bytes.NewReader(spec)
	cmd.Stderr = log
	cmd.ExtraFiles = []*os.File{report, startLock} // state.ReportFD, state.StartLockFD
	if run.file != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, run.file) // state.ExecutableFD
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// askToBind asks an owner to look after its socket, see state.BindSignal. One that has
// ended meanwhile, and owners of earlier builds, do not notice.
func askToBind(r state.Record) { _ = proc.Signal(r.OwnerPID, r.OwnerStart, state.BindSignal) }

// goneErrors are typical of an owner that does not listen yet or has just ended:
// the socket refuses, or closed the connection.
var goneErrors = []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE}
