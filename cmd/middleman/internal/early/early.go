// Package early does what comes before other packages are initialised: it catches SIGQUIT,
// which a key may send from then on, and answers version, for which scripts ask all the
// time. It must import next to nothing. A binary without a version from its build answers
// later.
package early

import (
	"os"

	"middleman/cmd/middleman/internal/quit"
	"middleman/cmd/middleman/internal/stamp"
)

// Go initialises packages in the order of their import paths, as far as their imports
// allow. What this one imports comes first, and hardly anything else does.
func init() {
	quit.Catch()
	if stamp.Version == "" || len(os.Args) != 2 || os.Args[1] != "version" && os.Args[1] != "--version" && os.Args[1] != "-V" {
		return
	}
	if _, err := os.Stdout.WriteString(stamp.Line(stamp.Version) + "\n"); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
