//go:build unix

package client

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// detach makes cmd's process the leader of a new session (setsid(2)), so that no
// hang-up or interrupt of a terminal reaches it. The process gets ready as its
// ReadyPipe.
func detach(cmd *exec.Cmd, ready *os.File) {
	cmd.ExtraFiles = []*os.File{ready}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// ended reports whether there is no process with that id.
func ended(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// ReadyPipe returns the pipe to the process that started this one in the
// background, or nil.
func ReadyPipe() *os.File { return os.NewFile(3, "ready") }

// stopReading makes a read of the server's ReadyPipe return.
func stopReading(r *os.File, _ *exec.Cmd) { r.SetReadDeadline(time.Now()) }
