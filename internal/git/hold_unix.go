//go:build unix

package git

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// tryHold locks a directory with flock(2). The lock lasts until the file is
// closed here and in every process that inherited it. The result is false if
// another process holds it.
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
