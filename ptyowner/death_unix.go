//go:build unix

package ptyowner

import (
	"middleman/ptyowner/state"
	"os"
	"os/exec"
)

// noteEnd writes down how an owner ended that this process has started. Where
// nobody is left to wait for an owner, nobody knows.
func noteEnd(d state.Dir, cmd *exec.Cmd, killed int) {
	if cmd.ProcessState == nil || cmd.ProcessState.Success() {
		return // it has said itself how the session ended
	}
	log, err := os.OpenFile(d.File(state.LogFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return // the state was removed meanwhile
	}
	defer log.Close()
	state.Note(log, endNote, cmd.Process.Pid, cmd.ProcessState, killed)
}
