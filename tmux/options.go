package tmux

import (
	"fmt"
	"os"
	"slices"
)

// Name is the name of this host, as recorded with each session.
const Name = "tmux"

// SocketFile is the name of the private server's socket in the runtime
// directory.
const SocketFile = "tmux.sock"

// TryDir is the directory in the runtime directory in which a tmux is tried
// out. Its content is temporary.
const TryDir = "try"

// The hidden helper commands that [Main] runs: the launcher in a pane, and the
// helper that receives the pane's pipe.
const (
	CommandPane = "tmux-pane"
	CommandPipe = "tmux-pipe"
)

// DefaultHistoryLines is how many lines of scrollback tmux keeps for a session.
const DefaultHistoryLines = 10000

// Options tells a Server which directories, programs and limits to use.
type Options struct {
	// Sessions is the directory of the sessions' state directories, the same as
	// ptyowner.Options.Sessions. It is created (0700) when needed.
	Sessions string
	// Runtime is the directory for the server's socket and its generated
	// configuration. It is created (0700) when needed.
	Runtime string
	// Config is the directory for the user's own tmux.conf, or "". The private
	// server reads that file after the generated configuration.
	Config string
	// Executable returns the path of a program that runs [Main] if it is called
	// with a helper command; nil means this program.
	Executable func() (string, error) `json:"-"`
	// HistoryLines bounds tmux's own scrollback; 0 means DefaultHistoryLines.
	HistoryLines int
	// Tmux is the path or name of the tmux program; "" means tmux in PATH.
	Tmux string

	// alive is only for a server that is tried out: the path of a FIFO. When
	// its last writer has closed it, the server ends and removes the runtime
	// directory.
	alive string
}

// IsHelper reports whether args (os.Args[1:]) name a helper command for [Main].
func IsHelper(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{CommandPane, CommandPipe}, args[0])
}

// Main runs a hidden helper command and returns the exit code for the process.
// args are os.Args[1:]. Call it before anything else is set up, since a
// session's program inherits properties of the launcher's process.
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

// exitCode prints err, if it is not nil, and returns the exit code.
func exitCode(command string, err error) int {
	if err != nil {
		fmt.Fprintf(os.Stderr, "middleman %s: %v\n", command, err)
		return 1
	}
	return 0
}
