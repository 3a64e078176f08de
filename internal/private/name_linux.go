package private

import "os"

// NameProcess sets the process name that ps(1) and top(1) show to "middleman".
// Without that, a process that was executed by a file descriptor has the
// descriptor's number as its name. It sets the name of the first thread, whichever
// thread calls (proc_pid_comm(5)). Every execve(2) undoes it. Call it before
// Harden, which makes the file root's.
func NameProcess() {
	_ = os.WriteFile("/proc/self/comm", []byte("middleman"), 0) // the name is only for people, so an error does no harm
}
