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

// programCgroup is the cgroup below the owner's that the program is put into,
// where the owner may make one.
const programCgroup = "program"

// Group is a session's cgroup, by its directory. The zero value is none: every
// method does nothing then.
type Group string

// Find returns the cgroup of a session that this process runs in, and none where
// it runs elsewhere.
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

// scopePath is the path in the hierarchy of the session's scope, if the
// process is in it or below.
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

// cgroupDir is where mounts, which is proc_pid_mountinfo(5), show the cgroup
// at path; "" where they do not.
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

// unescapeMount undoes what the kernel does to blanks and the like.
func unescapeMount(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// OOMKills begins to count the processes that the kernel kills for want of memory
// in the cgroup that a process is in now (memory.events, cgroups(7)). Each call of
// what it returns tells how many there were since: 0 also where that cannot be
// read, or went with the cgroup's last process.
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

// parseOOMKills reads memory.events.
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
	// What cannot be read has gone meanwhile, or is not ours.
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

// open makes the program's cgroup and opens it for clone3(2); nil where that
// is not allowed.
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

// Kill ends every process in the program's cgroup in one step, also those that
// fork meanwhile (cgroup.kill, Linux 5.14). It does not wait for their end, and
// does nothing where the kernel cannot.
func (c Group) Kill() {
	if c != "" {
		// Where it is not to be had, they are ended one by one.
		_ = os.WriteFile(filepath.Join(string(c), programCgroup, "cgroup.kill"), []byte("1"), 0)
	}
}

// Remove removes the program's cgroup. One that is not empty stays.
func (c Group) Remove() {
	if c != "" {
		_ = unix.Rmdir(filepath.Join(string(c), programCgroup)) // it stays with what is in it
	}
}

// Fork is syscall.ForkExec for a session's program: it begins in a cgroup of its
// own below the session's, where this process may make one, and else beside this
// process. attr.Sys must not be nil.
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
		// Before Linux 5.7, or not delegated; a program that cannot be started
		// says so again.
		return syscall.ForkExec(path, argv, attr)
	}
	return pid, nil
}
