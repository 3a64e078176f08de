package host

import "syscall"

// WaitStatus is how a process ended.
type WaitStatus = syscall.WaitStatus
