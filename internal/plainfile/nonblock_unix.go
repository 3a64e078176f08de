//go:build unix

package plainfile

import "syscall"

// nonBlocking keeps open(2) of a FIFO from waiting for its writer.
const nonBlocking = syscall.O_NONBLOCK
