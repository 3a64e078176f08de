package private

import "os"

// NameProcess gives the process the name that ps(1) and top(1) show, which
// would be that of the descriptor that it was executed by. It is that of the
// first thread, whichever calls (proc_pid_comm(5)); every execve(2) undoes it.
// It must come before Harden, with which the file is root's.
func NameProcess() {
	_ = os.WriteFile("/proc/self/comm", []byte("middleman"), 0) // of use to people alone
}
