//go:build faults && unix

package fault

import "syscall"

func makeFIFO(path string) error { return syscall.Mkfifo(path, 0o600) }
