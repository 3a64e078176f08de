package tmux

import (
	"fmt"
	"os"
)

// executable returns a path that runs this program, even if its file was
// replaced since. It may be a path in /proc that is valid only while this
// process lives, so this process waits until the helpers have started.
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
