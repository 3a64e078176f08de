package git

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const boxTime = 10 * time.Second // for the test whether bwrap works

// boxFlags are the flags of bwrap(1) that make the sandbox: no network, no
// other processes, a read-only file system, and none of the sockets in /run.
// The sandbox stays in our session, which has no terminal (see ownGroup): if
// the command is cancelled while bwrap still sets up, only a signal to the
// process group ends it.
func boxFlags() []string {
	flags := []string{"--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"}
	path, err := exec.LookPath("git")
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil && !strings.HasPrefix(path, "/run/") {
		flags = append(flags, "--tmpfs", "/run")
	}
	return flags
}

// boxes says of each bwrap that was tried why it cannot be used, nil if it can.
var boxes = struct {
	mu    sync.Mutex
	tried map[string]error // mu guards it
}{tried: map[string]error{}}

// boxProgram is the path of bwrap, or the reason why it cannot be used. It looks each
// time, since PATH may change (see package ownpath), and runs each bwrap once to find out
// whether it works: a kernel may forbid users to make namespaces.
func boxProgram() (string, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return "", err
	}
	boxes.mu.Lock()
	defer boxes.mu.Unlock()
	why, known := boxes.tried[path]
	if !known {
		ctx, cancel := context.WithTimeout(context.Background(), boxTime)
		defer cancel()
		why = Command{Dir: "/", Args: []string{"--version"}}.tryBox(ctx, path)
		boxes.tried[path] = why
	}
	return path, why
}

func (c Command) tryBox(ctx context.Context, program string) error {
	cmd := exec.CommandContext(ctx, program, append(boxFlags(), append([]string{"--", "git"}, c.Args...)...)...)
	cmd.Dir = c.Dir
	ownGroup(cmd)
	stderr := &tail{}
	cmd.Stderr = stderr
	if err := cmd.Run(); err != nil {
		return &Error{Args: c.Args, Dir: c.Dir, Code: codeOf(cmd, err), Stderr: stderr.reason(), Err: err}
	}
	return nil
}

// box returns argv wrapped so that it runs in a sandbox. There it can write to
// one directory alone. It can read the directories in shown even below /run and /dev,
// which the sandbox hides otherwise (a user's disk, or a memory file system, may be mounted
// there), and below those in hidden. These have sockets that lead out. Without a usable bwrap box
// returns argv unchanged.
func box(argv []string, writable string, shown, hidden []string) []string {
	program, err := boxProgram()
	if err != nil {
		return argv
	}
	flags := boxFlags()
	for _, dir := range hidden {
		if info, err := os.Stat(dir); err == nil && info.IsDir() { // bwrap cannot make it
			flags = append(flags, "--tmpfs", dir)
		}
	}
	for _, dir := range shown {
		within := func(h string) bool { return dir == h || strings.HasPrefix(dir, h+"/") }
		if slices.ContainsFunc(append(slices.Clone(hidden), "/run", "/dev"), within) {
			flags = append(flags, "--ro-bind", dir, dir)
		}
	}
	if writable != "" {
		flags = append(flags, "--bind", writable, writable)
	}
	return append(append([]string{program}, append(flags, "--")...), argv...)
}

// Box returns the path of the program that confines git while it reads a
// repository, or an error that says why there is none. In that case only the
// settings that a Command pins protect against the repository.
func Box() (string, error) { return boxProgram() }
