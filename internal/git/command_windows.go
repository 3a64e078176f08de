package git

import (
	"os/exec"
	"strings"
	"syscall"
)

// systemPinned are settings of every git command on this system. Without longpaths Git for
// Windows neither reads nor makes a file whose path has more than 260 characters.
var systemPinned = []string{"core.longpaths=true"}

// variable returns the spelling of a variable's name that Windows takes for the same.
func variable(name string) string { return strings.ToUpper(name) }

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
