//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
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

func copyFile(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o755)
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
