//go:build unix

package private

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// startCore is the soft limit of core files that this process was started
// with; nil says that it has it still.
var startCore atomic.Pointer[uint64]

// Harden keeps what this process knows out of core files and, on Linux, out of
// the reach of other processes of this user. It holds until the process
// executes another image. What it starts gets the core limit of 0 too, unless
// it is given CoreLimit.
func Harden() error {
	if err := hide(); err != nil {
		return err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return fmt.Errorf("read the limit of core files: %w", err)
	}
	startCore.CompareAndSwap(nil, &limit.Cur)
	return SetCoreLimit(0)
}

// CoreLimit is the soft limit of core files that this process was started
// with, which is what a program of the user's is to get.
func CoreLimit() uint64 {
	if soft := startCore.Load(); soft != nil {
		return *soft
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return 0
	}
	return limit.Cur
}

// SetCoreLimit sets the soft limit of core files, as far as the hard one
// allows it.
func SetCoreLimit(soft uint64) error {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_CORE, &limit)
	if err == nil {
		limit.Cur = min(soft, limit.Max)
		err = unix.Setrlimit(unix.RLIMIT_CORE, &limit)
	}
	if err != nil {
		return fmt.Errorf("set the limit of core files: %w", err)
	}
	return nil
}
