// Command middleman manages workspaces whose terminals outlive everything but
// their own program. This package is wiring: it reads flags, chooses exit
// codes, and joins the packages that do the work.
package main

import (
	"os"

	_ "middleman/cmd/middleman/internal/helper" // runs the helper processes instead
)

func main() { os.Exit(newCLI(os.Stdin, os.Stdout, os.Stderr).run(os.Args[1:])) }
