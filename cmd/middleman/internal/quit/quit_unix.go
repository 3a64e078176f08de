//go:build unix

package quit

import (
	"os"
	"os/signal"
	"syscall"
)

// notify sends the signal to c, and reports whether it does.
func notify(c chan<- os.Signal) bool {
	if signal.Ignored(syscall.SIGQUIT) {
		return false
	}
	signal.Notify(c, syscall.SIGQUIT)
	return true
}
