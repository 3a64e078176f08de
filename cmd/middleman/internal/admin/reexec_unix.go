//go:build unix

package admin

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"middleman/internal/app"
)

// scrub becomes this very program anew, in the same process, where the
// environment holds what a server has no use for: it can be read from outside
// for as long as a process executes the image that it was started with, and
// os.Unsetenv changes nothing about that.
func scrub() error {
	wanted := app.Environment(os.Environ())
	if slices.Equal(wanted, os.Environ()) {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find our own executable: %w", err)
	}
	return fmt.Errorf("run the server without the rest of the environment: %s: %w", exe, syscall.Exec(exe, os.Args, wanted))
}
