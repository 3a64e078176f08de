package tmux

import (
	"fmt"
	"os"
)

// executable returns a path that runs this very program, even when the file
// that it was started from has been replaced. It is good while this process
// lives, which waits until the helpers have started.
func executable() (string, error) {
	self := fmt.Sprintf("/proc/%d/exe", os.Getpid())
	running, err := os.Stat(self)
	if err != nil {
		return os.Executable()
	}
	path, err := os.Executable()
	if err != nil {
		return self, nil
	}
	if file, err := os.Stat(path); err != nil || !os.SameFile(running, file) {
		return self, nil
	}
	return path, nil
}
