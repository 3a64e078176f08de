//go:build unix

package git

import (
	"fmt"
	"os/exec"
	"syscall"
)

// ownGroup starts cmd in a session and so in a process group of its own and
// has a cancelled context stop all of it. Without a terminal nothing that it
// starts, such as ssh, can ask there and wait.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// maxGitMemory bounds what git may have in memory beside the files that it
// maps: it reads a .gitignore, or a ref, of any size into it.
const maxGitMemory = 2 << 20 // KiB

// withinMemory is argv under that bound, where the system has one.
func withinMemory(argv []string) []string {
	script := fmt.Sprintf(`ulimit -d %d 2>/dev/null; exec "$@"`, maxGitMemory)
	return append([]string{"/bin/sh", "-c", script, "git"}, argv...)
}

// killGroup ends what SIGTERM left of cmd's group.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // ESRCH: nothing is left
	}
}
