package git

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps the console's ctrl-c from cmd; a cancelled context ends it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup has nothing to do: the process was killed when its context ended.
func killGroup(*exec.Cmd) {}

// withinMemory is argv: there is no such bound here.
func withinMemory(argv []string) []string { return argv }
