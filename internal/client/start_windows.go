package client

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach starts cmd without the console of this process. The process gets ready as
// its ReadyPipe, which is its standard input: Windows passes no other file on.
func detach(cmd *exec.Cmd, ready *os.File) {
	cmd.Stdin = ready
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}

// ReadyPipe returns the pipe to the process that started this one in the
// background, or nil.
func ReadyPipe() *os.File {
	if kind, err := windows.GetFileType(windows.Handle(os.Stdin.Fd())); err != nil || kind != windows.FILE_TYPE_PIPE {
		return nil
	}
	return os.Stdin
}

// stopReading makes a read of the server's ReadyPipe return: such a pipe has no
// deadline, but it ends with the server.
func stopReading(_ *os.File, server *exec.Cmd) { _ = server.Process.Kill() }

// ended returns false: no server on Windows becomes another.
func ended(int) bool { return false }
