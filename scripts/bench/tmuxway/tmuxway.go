// Package tmuxway makes our tmux backend for the benchmarks. It is a package
// of its own because no package but the binary imports both backends.
package tmuxway

import (
	"path/filepath"

	"middleman/terminal"
	"middleman/tmux"
)

// Backend returns a tmux backend that keeps all that it makes below dir and
// runs binary as its helpers.
func Backend(dir, binary string) terminal.Backend {
	return tmux.New(tmux.Options{
		Sessions:   filepath.Join(dir, "sessions"),
		Runtime:    filepath.Join(dir, "run"),
		Executable: func() (string, error) { return binary, nil },
	})
}
