//go:build unix

package dashboard

import (
	"os"

	"golang.org/x/sys/unix"
)

// canSuspend reports whether a shell can have started this program, so that it comes
// back after it was suspended. The leader of a terminal's session has none.
func canSuspend() bool {
	sid, err := unix.Getsid(0)
	return err == nil && sid != os.Getpid()
}
