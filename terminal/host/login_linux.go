package host

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// AsFromLogin calls fork on a thread that blocks no signal and has no better
// priority than a login has, in a process that is not spared when memory runs
// out. The thread ends with it, as it could not go back. note is told what did
// not work.
func AsFromLogin(fork func(), note func(error)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		// None of these can fail: each asks for less than there is.
		_ = unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
		if nice := 20 - rawPriority(); nice < 0 {
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 0)
		}
		defer spareNobody(note)()
		fork()
	}()
	<-done
}

// rawPriority is 20 - nice, as the system call has it (getpriority(2)).
func rawPriority() int {
	n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return 20
	}
	return n
}

// oomAdjustment is where a process says how likely it is to be ended when
// memory runs out (proc_pid_oom_score_adj(5)).
const oomAdjustment = "/proc/self/oom_score_adj"

// spareNobody gives up for a moment that this process is spared when memory
// runs out, so that who is forked then is not. Going back to what one had is
// always allowed.
func spareNobody(note func(error)) (undo func()) {
	data, err := os.ReadFile(oomAdjustment)
	had := strings.TrimSpace(string(data))
	if err != nil || !strings.HasPrefix(had, "-") {
		return func() {}
	}
	if err := os.WriteFile(oomAdjustment, []byte("0"), 0); err != nil {
		note(fmt.Errorf("start the program with our OOM adjustment %s: %w", had, err))
	}
	return func() {
		if err := os.WriteFile(oomAdjustment, []byte(had), 0); err != nil {
			note(err)
		}
	}
}
