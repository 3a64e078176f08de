package ptyowner

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openOwn is the path that this process was started from.
func openOwn() (executable, error) {
	path, err := os.Executable()
	return executable{path: path}, err
}

// becomeSubreaper: this system has no subreaper; a stop finds orphans by
// their session and process group.
func becomeSubreaper() {}

// processStart is not told here.
func processStart(int) string { return "" }

const zombie = 5 // SZOMB of sys/proc.h

func processOf(k *unix.KinfoProc) process {
	return process{
		pid: int(k.Proc.P_pid), parent: int(k.Eproc.Ppid), group: int(k.Eproc.Pgid),
		start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
		dead:  k.Proc.P_stat == zombie,
	}
}

// processes lists the processes of the session, ended ones too: those whose
// session or process group is the program's, the owner's children, and what
// descends from them.
func (o *owner) processes() ([]process, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	t := make(processTable, len(all))
	members := make(map[int]bool)
	for i := range all {
		p := processOf(&all[i])
		session, err := unix.Getsid(p.pid)
		if errors.Is(err, unix.ESRCH) && !p.dead {
			continue
		}
		p.session = session
		t[p.pid] = p
		if p.pid != os.Getpid() && (p.session == o.pid || p.group == o.pid) {
			members[p.pid] = true
		}
	}
	return t.below(os.Getpid(), members), nil
}

// strayProcesses: this system shows no environments; what an owner that was
// killed left behind is not found.
func strayProcesses(stateDir) ([]process, error) { return nil, nil }

// runningImage: this system does not say which file a process executes.
func runningImage() string { return "" }

func imageOf(os.FileInfo) string { return "" }

// statProgram: this system does not say which file a process executes.
func statProgram(int) (os.FileInfo, error) { return nil, errors.ErrUnsupported }

// findProcess looks at one process.
func findProcess(pid int) (p process, ok bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return p, false
	}
	p = processOf(k)
	p.session, err = unix.Getsid(pid)
	return p, err == nil
}

// signalProcess sends sig to p, or returns ESRCH where p has ended, as its
// start time tells.
func signalProcess(p process, sig unix.Signal) error {
	if now, ok := findProcess(p.pid); !ok || now.id() != p.id() {
		return unix.ESRCH
	}
	return unix.Kill(p.pid, sig)
}

// stopGroup: this system cannot do it to the group of one very process.
func stopGroup(process) {}

// childEnded is not told here.
func childEnded() bool { return false }

// waitedFor is not told here.
func waitedFor(int) uint64 { return 0 }

// bootTime is not asked for here.
func bootTime() time.Time { return time.Time{} }

// oomKills: this system does not say.
func oomKills(int) func() int { return func() int { return 0 } }

// cgroup: this system has none.
type cgroup struct{}

func findCgroup(string) cgroup { return cgroup{} }
func (cgroup) kill()           {}
func (cgroup) remove()         {}

// forkInCgroup starts the program.
func forkInCgroup(_, path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	return syscall.ForkExec(path, argv, attr)
}
