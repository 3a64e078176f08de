package git

import (
	"os/exec"
	"syscall"
)

// ownGroup protects cmd from ctrl-c in the console. A cancelled context kills
// it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killedAtOnce does nothing: a cancelled context kills cmd.
func killedAtOnce(*exec.Cmd) {}

// killGroup does nothing: os/exec killed the process when its context ended.
func killGroup(*exec.Cmd) {}

// withinMemory returns argv unchanged: there is no such limit here.
func withinMemory(argv []string) []string { return argv }
