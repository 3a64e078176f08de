// Package tmuxway gives benchmarks sessions in panes. It is a package of its own
// because of the name tmux, which is also that of what we compare with.
package tmuxway

import (
	"path/filepath"

	"middleman/terminal/host"
	"middleman/tmux"
)

// Name is the backend's.
const Name = tmux.Name

// Host returns a private tmux server that keeps all that it makes below dir, and
// runs its helpers from the binary middleman.
func Host(dir, middleman string) host.Provider {
	return tmux.New(tmux.Options{
		Sessions: filepath.Join(dir, "sessions"), Runtime: filepath.Join(dir, "run"),
		Executable: func() (string, error) { return middleman, nil },
	})
}
