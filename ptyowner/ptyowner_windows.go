package ptyowner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"middleman/internal/private"
	"middleman/ptyowner/state"
)

// usable returns an error unless this Windows has pseudo consoles.
func usable() error {
	if err := windows.NewLazySystemDLL("kernel32.dll").NewProc("CreatePseudoConsole").Find(); err != nil {
		return fmt.Errorf("host terminals by pty-owner: %w: this Windows has no pseudo consoles, which came with Windows 10 1809", errors.ErrUnsupported)
	}
	return nil
}

// openOwn returns the path that this process was started from.
func openOwn() (executable, error) {
	path, err := os.Executable()
	return executable{path: path}, err
}

// askToBind does nothing: nobody can remove a named pipe.
func askToBind(state.Record) {}

// bootTime returns about when the machine started.
func bootTime() time.Time { return time.Now().Add(-windows.DurationSinceBoot()) }

// spawnOwner starts the owner without a console and in a group of its own, so that
// neither ctrl-C nor the end of this process's console reaches it. If this process
// is in a job that allows that, the owner breaks away from it; otherwise the log
// says that the session ends with the job.
func spawnOwner(_ context.Context, run executable, d state.Dir, spec []byte, log, report *os.File, _ private.LockFile) (*exec.Cmd, error) {
	cmd := ownerCommand(run, d, spec, log, report, windows.CREATE_BREAKAWAY_FROM_JOB)
	err := cmd.Start()
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		cmd = ownerCommand(run, d, spec, log, report, 0)
		if err = cmd.Start(); err == nil {
			state.Note(log, "the session ends with the job that the server is in: that allows no process to break away")
		}
	}
	return cmd, err
}

// ownerCommand returns the command that runs the owner. The owner reads spec
// from stdin, logs to log and reports on report, its stdout.
func ownerCommand(run executable, d state.Dir, spec []byte, log, report *os.File, flags uint32) *exec.Cmd {
	// Never exec.CommandContext: an owner outlives every context.
	cmd := exec.Command(run.path, "pty-owner", d.Path)
	cmd.Args[0] = "middleman"
	cmd.Dir = os.Getenv("SystemRoot") // no directory of the user's: it could not be deleted
	cmd.Env = []string{"GOMAXPROCS=2", "SystemRoot=" + os.Getenv("SystemRoot"), "TEMP=" + os.TempDir(), "TMP=" + os.TempDir()}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(spec), report, log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP | flags, HideWindow: true,
	}
	return cmd
}

// stopReading makes a read of the owner's report return: such a pipe has no
// deadline, but it ends with the owner.
func stopReading(_ *os.File, cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// goneErrors are typical of an owner that does not listen yet or has just ended:
// the pipe was closed.
var goneErrors = []error{windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA, windows.ERROR_PIPE_NOT_CONNECTED}
