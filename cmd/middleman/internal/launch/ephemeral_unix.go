//go:build unix

package launch

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

// handedOn are the signals that we pass on to the command.
var handedOn = []os.Signal{
	syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2,
}

// fromTerminal reports whether the terminal has sent s to the command too. The
// signals of its keys go to the whole foreground process group, and the command
// is in ours.
func fromTerminal(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// exitOf returns how the command ended.
func exitOf(state *os.ProcessState) terminal.Exit {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return terminal.Exit{Code: -1, Signal: int(status.Signal()), SignalName: unix.SignalName(status.Signal())}
	}
	return terminal.Exit{Code: state.ExitCode()}
}
