//go:build unix

package admin

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"middleman/internal/app"
)

// scrub executes this program again, in the same process, if the environment
// holds variables that the server does not need. Other processes can read the
// initial environment until the next execve(2); os.Unsetenv does not change it.
// On success scrub does not return.
func scrub() error {
	wanted := app.Environment(os.Environ())
	if slices.Equal(wanted, os.Environ()) {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find our own executable: %w", err)
	}
	return fmt.Errorf("start the server again with a reduced environment: %s: %w", exe, syscall.Exec(exe, os.Args, wanted))
}
