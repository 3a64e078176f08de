package launch

import (
	"os"

	"middleman/terminal"
)

// handedOn are the signals that must not end us before the command.
var handedOn = []os.Signal{os.Interrupt}

// fromTerminal returns true: the console sends signals to all its processes.
func fromTerminal(os.Signal) bool { return true }

// exitOf returns how the command ended.
func exitOf(state *os.ProcessState) terminal.Exit { return terminal.Exit{Code: state.ExitCode()} }
