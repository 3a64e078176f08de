package git

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const boxTime = 10 * time.Second // for a box to prove that it can be made

// boxFlags make a box: no network, nobody else's processes, a file system
// that cannot be written to, and no sockets of the running system. It stays in
// our session, which has no terminal (see ownGroup): a box that is cancelled
// while it is being made is ended with its process group, and by nothing else.
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

// boxProgram is the program that makes boxes, or why there is none. It is
// tried: a kernel may keep namespaces from users.
var boxProgram = sync.OnceValues(func() (string, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), boxTime)
	defer cancel()
	c := Command{Dir: "/", Args: []string{"--version"}}
	return path, c.tryBox(ctx, path)
})

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

// box is argv in a box that can write to one directory alone, and sees others
// though they lie where it is masked (a disk of the user's may be mounted
// there). It is argv itself where no box can be made.
func box(argv []string, writable string, shown []string) []string {
	program, err := boxProgram()
	if err != nil {
		return argv
	}
	flags := boxFlags()
	for _, dir := range shown {
		if strings.HasPrefix(dir, "/run/") {
			flags = append(flags, "--ro-bind", dir, dir)
		}
	}
	if writable != "" {
		flags = append(flags, "--bind", writable, writable)
	}
	return append(append([]string{program}, append(flags, "--")...), argv...)
}

// Box returns the program that confines a look at content, or why there is
// none: then what a Command pins is all that keeps git from harm.
func Box() (string, error) { return boxProgram() }
