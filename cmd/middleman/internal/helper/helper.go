// Package helper runs the hidden helper processes, of which there may be one
// for each session, before the packages of the server are initialised.
package helper

import (
	"os"

	"middleman/cmd/middleman/internal/build"
	"middleman/internal/heldport"
	"middleman/internal/private"
	"middleman/ptyowner/owner"
	"middleman/tmux"
)

// A helper never returns to main. Packages are initialised in the order of
// their import paths as far as their imports allow, so net/http, the database
// and all that is built on them come after this one, and what they allocate
// and touch is not in a helper's memory.
func init() {
	if len(os.Args) < 2 {
		return
	}
	if os.Args[1] == "pty-owner" {
		os.Exit(owner.Main(os.Args[2:], build.Version(), tmux.Host{}))
	}
	if os.Args[1] == heldport.Command {
		os.Exit(heldport.Main(os.Args[2:]))
	}
	if tmux.IsHelper(os.Args[1:]) {
		private.NameProcess()
		os.Exit(tmux.Main(os.Args[1:]))
	}
}
