package launch

import (
	"os"

	"middleman/terminal"
)

// handedOn is what must not end us before the command.
var handedOn = []os.Signal{os.Interrupt}

// fromTerminal is always so: the console tells every process of it.
func fromTerminal(os.Signal) bool { return true }

// exitOf is how a command of ours ended.
func exitOf(state *os.ProcessState) terminal.Exit { return terminal.Exit{Code: state.ExitCode()} }
