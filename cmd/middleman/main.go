// Command middleman manages workspaces whose terminals outlive everything but
// their own program. This package is wiring: it reads flags, chooses exit
// codes, and joins the packages that do the work.
package main

import (
	"os"

	"middleman/ptyowner"
	"middleman/tmux"
)

func main() { os.Exit(run(os.Args[1:])) }

// run dispatches the hidden helper processes before anything is set up, so
// that the one which lives as long as its session stays small.
func run(args []string) int {
	if len(args) > 0 && args[0] == "pty-owner" {
		return ptyowner.Main(args[1:], buildVersion())
	}
	if tmux.IsHelper(args) {
		return tmux.Main(args)
	}
	return newCLI(os.Stdin, os.Stdout, os.Stderr).run(args)
}
