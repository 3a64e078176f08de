//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// otherUID is the second user, where we may become one.
	otherUID = 61234
	// patience is when a step that must end is given up.
	patience = 60 * time.Second
)

// world is where the probes happen.
type world struct {
	ctx context.Context
	// dir holds all that is made; others may pass through it and not list it.
	dir string
	// binary and self are copies of middleman and of this program that a second
	// user may execute.
	binary, self string
	// isRoot says that a second user can be had.
	isRoot bool
	// shared is the server of the probes that leave it as it was.
	shared func() (*server, error)
	// heavy is the server whose memory is watched.
	heavy func() (*server, error)
	// telling is the server whose shell held secrets.
	telling func() (*server, error)
	// repositories is the server of the probes with repositories.
	repositories func() (*server, error)
	// planting is what ran of all that was planted in one repository.
	planting func() (map[string]error, error)
	// restoring is where forged snapshots are restored.
	restoring *server
	// escaping is the server of what must not reach a terminal.
	escaping func() (*server, error)
	// looked and naming are workspaces, of repositories of their own.
	looked, naming func() (*repository, error)
	// tokens are the shared server's.
	tokens func() (scoped, error)
	// mu guards places and servers.
	mu      sync.Mutex
	places  int
	servers []*server
}

func newWorld(ctx context.Context, binary string) (*world, error) {
	// What our processes leave behind becomes our child, so it is found.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the reaper of what is started: %w", err)
	}
	syscall.Umask(0o022)
	dir, err := os.MkdirTemp("/tmp", "mmp") // short, for the sockets in it
	if err != nil {
		return nil, err
	}
	w := &world{ctx: ctx, dir: dir, isRoot: os.Geteuid() == 0}
	w.shared = sync.OnceValues(func() (*server, error) { return w.newServer(serverOptions{target: true}) })
	w.heavy = sync.OnceValues(func() (*server, error) { return w.newServer(serverOptions{target: true}) })
	w.telling = sync.OnceValues(func() (*server, error) { return newTelling(w) })
	w.repositories = sync.OnceValues(func() (*server, error) { return w.newServer(serverOptions{}) })
	w.planting = sync.OnceValues(func() (map[string]error, error) { return plantAll(w) })
	w.escaping = sync.OnceValues(func() (*server, error) { return w.newServer(serverOptions{}) })
	w.looked = sync.OnceValues(func() (*repository, error) { return begun(w, w.escaping) })
	w.naming = sync.OnceValues(func() (*repository, error) { return begun(w, w.repositories) })
	w.tokens = sync.OnceValues(func() (scoped, error) { return newScoped(w) })
	self, err := os.Executable()
	if err == nil {
		w.binary, w.self = filepath.Join(dir, "middleman"), filepath.Join(dir, "probes")
		err = errors.Join(os.Chmod(dir, 0o711), copyFile(binary, w.binary), copyFile(self, w.self), os.Mkdir(w.tmp(), 0o700))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return w, nil
}

// tmp is the temporary directory of what we start.
func (w *world) tmp() string { return filepath.Join(w.dir, "t") }

// place makes a new directory that is ours alone.
func (w *world) place() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.places++
	path := filepath.Join(w.dir, fmt.Sprint(w.places))
	must(os.Mkdir(path, 0o700))
	return path
}

// broken is a panic's value: a probe could not be carried out.
type broken struct{ err error }

// must ends the probe where its own preparation does not work.
func must(err error) {
	if err != nil {
		panic(broken{err})
	}
}

func must1[T any](v T, err error) T {
	must(err)
	return v
}

// needOther skips a probe that needs a second user where none can be had.
func (w *world) needOther() {
	if !w.isRoot {
		panic(broken{&skip{"only root can act as a second user"}})
	}
}

// runAll runs areas side by side, as many as there are processors and one
// more, and the probes that mostly wait beside all of them.
func (w *world) runAll(chosen []area) (results []result) {
	all := make([][]result, len(chosen))
	var waiting, running sync.WaitGroup
	places := make(chan struct{}, runtime.NumCPU()+1)
	for i, a := range chosen {
		all[i] = make([]result, len(a.probes))
		for k, p := range a.probes {
			if p.slow {
				waiting.Go(func() { all[i][k] = w.try(a, p) })
			}
		}
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			for k, p := range a.probes {
				if !p.slow {
					all[i][k] = w.try(a, p)
				}
			}
		})
	}
	running.Wait()
	waiting.Wait()
	for _, rows := range all {
		results = append(results, rows...)
	}
	return results
}

// try runs one probe.
func (w *world) try(a area, p probe) (r result) {
	began := time.Now()
	defer func() {
		switch v := recover().(type) {
		case nil:
		case broken:
			if _, isSkip := v.err.(*skip); !isSkip {
				v.err = fmt.Errorf("the probe could not be carried out: %w", v.err)
			}
			r = ending(a, p, began, v.err)
		default:
			r = ending(a, p, began, fmt.Errorf("the probe panicked: %v\n%s", v, debug.Stack()))
		}
	}()
	if err := w.ctx.Err(); err != nil {
		return ending(a, p, began, &skip{"the run was interrupted"})
	}
	return ending(a, p, began, p.run(w))
}

// copyFile copies a program. Another process writes it: a child that is forked
// here at this moment would hold the file open for writing, and then it cannot be
// executed.
func copyFile(from, to string) error {
	if out, err := exec.Command("install", "-m", "755", "--", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s to %s: %w: %s", from, to, err, out)
	}
	return nil
}

// output is what a command did.
type output struct {
	stdout, stderr string
	code           int
	late           bool // it was ended because it took too long
}

func (o output) String() string {
	return fmt.Sprintf("exit %d (late: %t)\nstdout: %q\nstderr: %q", o.code, o.late, o.stdout, o.stderr)
}

// all is both streams.
func (o output) all() string { return o.stdout + o.stderr }

// collect runs a command to its end, which is at most patience away.
func collect(cmd *exec.Cmd) output { return collectWithin(cmd, patience) }

func collectWithin(cmd *exec.Cmd, limit time.Duration) (o output) {
	var stdout, stderr limited
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	must(cmd.Start())
	late := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	o.late = !late.Stop()
	o.stdout, o.stderr, o.code = stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	if err != nil && o.code == 0 && !errors.Is(err, exec.ErrWaitDelay) {
		must(err)
	}
	return o
}

// onTerminal runs a command on a terminal of its own, and ends it at the limit.
func onTerminal(cmd *exec.Cmd, limit time.Duration) (o output) {
	var shown limited
	terminal := must1(pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80}))
	defer terminal.Close()
	late := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	_, _ = io.Copy(&shown, terminal) // it ends with an error when the other side closes
	_ = cmd.Wait()                   // the code tells
	return output{stdout: shown.String(), code: cmd.ProcessState.ExitCode(), late: !late.Stop()}
}

// limited keeps the first MiB of what is written.
type limited struct {
	mu  sync.Mutex
	buf []byte
}

func (l *limited) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p[:min(len(p), 1<<20-len(l.buf))]...)
	return len(p), nil
}

func (l *limited) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf)
}

// end ends what was started, removes what was made, and looks that both are
// gone. What it finds is reported as probes are.
func (w *world) end() []result {
	a := area{name: "end"}
	began := time.Now()
	var all sync.WaitGroup
	for _, s := range w.servers {
		all.Go(s.stop)
	}
	all.Wait()
	temp := w.leftTemporary()
	left := w.endProcesses()
	removed := os.RemoveAll(w.dir)
	if _, err := os.Lstat(w.dir); err == nil {
		removed = errors.Join(removed, fmt.Errorf("%s is still there", w.dir))
	}
	return []result{
		ending(a, probe{id: "end/temporary-files", title: "nothing of ours lies in the temporary directory afterwards",
			gain: "what a session or a login wrote there, to read at leisure"}, began, temp),
		ending(a, probe{id: "end/processes", title: "every process that was started can be ended"}, began, left),
		ending(a, probe{id: "end/files", title: "every file that was made can be removed"}, began, removed),
	}
}

// leftTemporary names what middleman left in its temporary directory.
func (w *world) leftTemporary() error {
	entries, err := os.ReadDir(w.tmp())
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "probe-") { // ours
			names = append(names, e.Name())
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("left: %s", strings.Join(names, ", "))
	}
	return nil
}

// endProcesses kills what descends from us, and says what would not go.
func (w *world) endProcesses() error {
	var left []int
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = w.descendants(); len(left) == 0 {
			return nil
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	var names []string
	for _, pid := range left {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may end meanwhile
		names = append(names, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return fmt.Errorf("left: %s", strings.Join(names, "; "))
}

// descendants are the processes below this one that have not ended. We are a
// subreaper, so what detached itself is among them.
func (w *world) descendants() (pids []int) {
	parent := map[int]int{}
	dead := map[int]bool{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	for _, path := range stats {
		pid, ppid, state, ok := readStat(path)
		if ok {
			parent[pid], dead[pid] = ppid, state == "Z" || state == "X"
		}
	}
	for pid := range parent {
		for at := parent[pid]; at > 1 && !dead[pid]; at = parent[at] {
			if at == os.Getpid() {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// readStat reads a process's number, its parent's and its state.
func readStat(path string) (pid, ppid int, state string, ok bool) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, "", false
	}
	pid, err = strconv.Atoi(strings.Fields(string(raw))[0])
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if err != nil || len(fields) < 2 {
		return 0, 0, "", false
	}
	ppid, err = strconv.Atoi(fields[1])
	return pid, ppid, fields[0], err == nil
}
