// Package confined starts the program of a sandbox before other packages are
// initialised, which would take longer than all that it does. It must not import the
// packages of the network: with these come those of the server; see package helper.
package confined

import (
	"os"

	"middleman/internal/sandbox"
)

// A sandbox with a network list is left to package helper.
func init() {
	if len(os.Args) < 2 || !sandbox.IsHelper(os.Args[1:]) {
		return
	}
	if exit, done := sandbox.Main(os.Args[1:], nil); done {
		os.Exit(exit)
	}
}
