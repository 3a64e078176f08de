// Package helper runs the hidden helper processes before the packages of the server
// are initialised. There may be one such process per session.
package helper

import (
	"os"

	"middleman/cmd/middleman/internal/build"
	_ "middleman/cmd/middleman/internal/helper/confined" // comes first: without a network list
	"middleman/cmd/middleman/internal/quit"
	"middleman/internal/egress"
	"middleman/internal/heldport"
	"middleman/internal/private"
	"middleman/internal/sandbox"
	"middleman/internal/sandbox/escapes"
	"middleman/ptyowner/owner"
	"middleman/tmux"
)

// A helper process never reaches main. Go initialises packages in the order of
// their import paths, as far as their imports allow. So net/http, the database
// and the packages built on them come after this one, and a helper never spends
// memory on them.
func init() {
	quit.Default()
	defer quit.Catch() // in no helper
	if len(os.Args) < 2 {
		return
	}
	if os.Args[1] == "pty-owner" {
		os.Exit(owner.Main(os.Args[2:], build.Version(), tmux.Host{}))
	}
	if os.Args[1] == heldport.Command {
		os.Exit(heldport.Main(os.Args[2:]))
	}
	if sandbox.IsHelper(os.Args[1:]) {
		exit, _ := sandbox.Main(os.Args[1:], egress.Proxy{})
		os.Exit(exit)
	}
	if egress.IsHelper(os.Args[1:]) {
		os.Exit(egress.Main(os.Args[2:]))
	}
	if os.Args[1] == escapes.Command {
		os.Exit(escapes.Main(os.Args[2:]))
	}
	if tmux.IsHelper(os.Args[1:]) {
		private.NameProcess()
		os.Exit(tmux.Main(os.Args[1:]))
	}
}
