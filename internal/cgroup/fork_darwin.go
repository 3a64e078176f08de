package cgroup

import "syscall"

// Fork is syscall.ForkExec.
func Fork(_, path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	return syscall.ForkExec(path, argv, attr)
}
