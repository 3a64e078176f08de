//go:build unix

package private

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// startCore is the soft limit of core files (RLIMIT_CORE) that this process was
// started with; nil means that Harden has not changed it.
var startCore atomic.Pointer[uint64]

// Harden keeps this process's memory out of core files and, on Linux, from other
// processes of this user. On Linux that ends when the process executes another
// image. Child processes inherit the core limit of 0, unless they are given
// CoreLimit.
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

// CoreLimit returns the soft limit of core files that this process was started
// with. The user's programs should get this limit.
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

// SetCoreLimit sets the soft limit of core files to soft, or to the hard limit if
// that is lower.
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
