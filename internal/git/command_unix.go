//go:build unix

package git

import (
	"fmt"
	"os/exec"
	"syscall"
)

// systemPinned are settings of every git command on this system.
var systemPinned []string

// variable returns name.
func variable(name string) string { return name }

// ownGroup starts cmd in a new session, and so in a process group of its own. A
// cancelled context sends SIGTERM to the whole group. The session has no
// terminal, so no child such as ssh can prompt there and wait.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// maxGitMemory limits git's data segment (ulimit -d). Mapped files do not
// count. git reads a .gitignore or a ref of any size into memory.
const maxGitMemory = 2 << 20 // KiB

// withinMemory returns argv under that limit, if the system supports it.
func withinMemory(argv []string) []string {
	script := fmt.Sprintf(`ulimit -d %d 2>/dev/null; exec "$@"`, maxGitMemory)
	return append([]string{"/bin/sh", "-c", script, "git"}, argv...)
}

// killedAtOnce lets a cancelled context kill the group of cmd, which ownGroup made.
func killedAtOnce(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// killGroup kills the processes of cmd's group that SIGTERM did not end.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // ESRCH: none is left
	}
}
