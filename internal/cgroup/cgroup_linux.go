package cgroup

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"middleman/internal/systemd"
)

// programCgroup is the name of the program's cgroup. It is below the session's,
// if the owner may create one there.
const programCgroup = "program"

// Group is the directory of a session's cgroup. For the zero value, which means
// no cgroup, every method does nothing.
type Group string

// Find returns the session's cgroup if this process runs in it or below it, and
// the zero Group otherwise.
func Find(session string) Group {
	path, ok := scopePath("self", session)
	if !ok {
		return ""
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	return Group(cgroupDir(string(mounts), path))
}

// scopePath returns the session's scope as a path in the cgroup hierarchy, if
// the process is in the scope or below it.
func scopePath(pid, session string) (string, bool) {
	data, err := os.ReadFile("/proc/" + pid + "/cgroup")
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(data)) {
		path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if !ok {
			continue // a hierarchy of version 1
		}
		for at := path; at != "/" && at != "."; at = filepath.Dir(at) {
			if filepath.Base(at) == systemd.SessionScope(session) {
				return at, true
			}
		}
	}
	return "", false
}

// InScope reports whether a process is in the session's cgroup or below it.
func InScope(pid int, session string) bool {
	_, ok := scopePath(strconv.Itoa(pid), session)
	return ok
}

// cgroupDir returns the directory of the cgroup at path, or "" if it is not
// mounted. mounts is a proc_pid_mountinfo(5) file.
func cgroupDir(mounts, path string) string {
	for line := range strings.Lines(mounts) {
		mount, source, ok := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		if !ok || len(fields) < 5 || !strings.HasPrefix(source, "cgroup2 ") {
			continue
		}
		below, ok := strings.CutPrefix(path, strings.TrimSuffix(fields[3], "/"))
		if ok && strings.HasPrefix(below, "/") {
			return filepath.Join(unescapeMount(fields[4]), below)
		}
	}
	return ""
}

// unescapeMount undoes the kernel's octal escapes of blanks, tabs, newlines and
// backslashes.
func unescapeMount(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// OOMKills begins to count the processes that the kernel kills for lack of
// memory (memory.events, cgroups(7)) in the cgroup that process pid is in now.
// The returned function returns the count so far. It returns 0 if memory.events
// cannot be read, for example because the cgroup was removed with its last
// process.
func OOMKills(pid int) func() int {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	_, path, _ := strings.Cut(string(data), "0::")
	path, _, _ = strings.Cut(path, "\n")
	dir := cgroupDir(string(mounts), path)
	if dir == "" {
		return func() int { return 0 }
	}
	events := filepath.Join(dir, "memory.events")
	count := func() int {
		data, _ := os.ReadFile(events)
		return parseOOMKills(string(data))
	}
	before := count()
	return func() int { return max(0, count()-before) }
}

// parseOOMKills returns the oom_kill count of a memory.events file.
func parseOOMKills(events string) int {
	for line := range strings.Lines(events) {
		if text, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(text))
			return n
		}
	}
	return 0
}

// Members returns the ids of the processes in the cgroup and in those below it.
func (c Group) Members() map[int]bool {
	if c == "" {
		return nil
	}
	pids := make(map[int]bool)
	// An unreadable directory was removed meanwhile, or is not ours.
	_ = filepath.WalkDir(string(c), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		data, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil {
			return nil
		}
		for _, field := range bytes.Fields(data) {
			if pid, err := strconv.Atoi(string(field)); err == nil && pid > 0 {
				pids[pid] = true
			}
		}
		return nil
	})
	return pids
}

// open creates the program's cgroup and opens it for clone3(2). It returns nil
// if that is not allowed.
func (c Group) open() *os.File {
	if c == "" {
		return nil
	}
	dir := filepath.Join(string(c), programCgroup)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil
	}
	f, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil
	}
	return f
}

// Kill kills every process in the program's cgroup in one step, even those that
// fork meanwhile (cgroup.kill, Linux 5.14). It does not wait until they have
// ended. It does nothing on older kernels.
func (c Group) Kill() {
	if c != "" {
		// If this fails, the caller's stop kills them one by one.
		_ = os.WriteFile(filepath.Join(string(c), programCgroup, "cgroup.kill"), []byte("1"), 0)
	}
}

// Remove removes the program's cgroup if that is empty.
func (c Group) Remove() {
	if c != "" {
		_ = unix.Rmdir(filepath.Join(string(c), programCgroup)) // fails while a process is in it
	}
}

// Fork is syscall.ForkExec for a session's program. The program begins in a
// cgroup of its own below the session's, if this process may create one, and
// otherwise in this process's cgroup. attr.Sys must not be nil.
func Fork(session, path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	dir := Find(session).open()
	if dir == nil {
		return syscall.ForkExec(path, argv, attr)
	}
	defer dir.Close()
	inside := *attr
	sys := *attr.Sys
	sys.UseCgroupFD, sys.CgroupFD = true, int(dir.Fd())
	inside.Sys = &sys
	if pid, err = syscall.ForkExec(path, argv, &inside); err != nil {
		// The kernel is older than 5.7, or the cgroup is not delegated to us.
		// If the program itself cannot be started, this fails again.
		return syscall.ForkExec(path, argv, attr)
	}
	return pid, nil
}
