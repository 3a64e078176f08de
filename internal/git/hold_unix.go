//go:build unix

package git

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// tryHold takes the lock of a directory. It is held until the file is closed
// here and in every process that was started with it.
func tryHold(dir string) (*os.File, bool, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		return f, true, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("lock %s: %w", dir, err)
}
