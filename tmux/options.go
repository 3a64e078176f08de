package tmux

import (
	"fmt"
	"os"
	"slices"
)

// Name is what is recorded with each session of this host.
const Name = "tmux"

// SocketFile is where the private server listens, in the runtime directory.
const SocketFile = "tmux.sock"

// TryDir is, in the runtime directory, where a tmux is tried out: what is in it
// comes and goes.
const TryDir = "try"

// The hidden helper commands, which [Main] runs: the launcher in a pane, and
// what the pane's pipe is connected to.
const (
	CommandPane = "tmux-pane"
	CommandPipe = "tmux-pipe"
)

// DefaultHistoryLines is how many lines of scrollback tmux keeps of a session.
const DefaultHistoryLines = 10000

// Options says where a Server keeps things.
type Options struct {
	// Sessions is the directory of the sessions' state directories, the same
	// as the pty-owner's. It is made (0700) when it is needed.
	Sessions string
	// Runtime is where the server's socket and its generated configuration
	// are. It is made (0700) when it is needed.
	Runtime string
	// Config is where the user's own tmux.conf may be, or "". It is read by
	// the private server after the generated configuration.
	Config string
	// Executable returns the program that runs [Main] when it is called with
	// one of the helper commands; nil means this program.
	Executable func() (string, error) `json:"-"`
	// HistoryLines bounds tmux's own scrollback; 0 means DefaultHistoryLines.
	HistoryLines int
	// Tmux is the tmux program; "" means the one in PATH.
	Tmux string

	// alive is, for a server that is only tried out, a FIFO whose last writer's
	// end is the server's, and that of the runtime directory.
	alive string
}

// IsHelper reports whether args (os.Args[1:]) call for [Main].
func IsHelper(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{CommandPane, CommandPipe}, args[0])
}

// Main runs a hidden helper command and returns the exit code of the process.
// args are os.Args[1:]. It must be called before anything else is set up, since
// the program of a session inherits what the launcher is.
func Main(args []string) int {
	switch {
	case len(args) == 3 && args[0] == CommandPane:
		return exitCode(args[0], runPane(args[1], args[2]))
	case len(args) == 2 && args[0] == CommandPipe:
		return exitCode(args[0], runPipe(args[1]))
	}
	fmt.Fprintln(os.Stderr, "this is run by tmux in middleman's panes, not by hand")
	return 2
}

// exitCode prints an error and returns the exit code.
func exitCode(command string, err error) int {
	if err != nil {
		fmt.Fprintf(os.Stderr, "middleman %s: %v\n", command, err)
		return 1
	}
	return 0
}
