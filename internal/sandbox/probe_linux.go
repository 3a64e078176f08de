package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/internal/scratch"
)

const probeTime = 10 * time.Second // for a run of bwrap that tells whether it works

// systemPlaces are where systems have bwrap. The first comes first, because some
// kernels allow user namespaces to that path alone.
var systemPlaces = []string{"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"}

// Probe finds out once which methods this system has for this user. It runs bwrap,
// because a kernel may forbid users to make namespaces.
var Probe = sync.OnceValue(func() Support {
	var s Support
	path, err := findBubblewrap(systemPlaces)
	if err == nil {
		s.Version, err = tryBubblewrap(path)
	}
	if err == nil {
		s.Bubblewrap = path
	} else {
		s.NoBubblewrap = err.Error()
	}
	s.ABI, s.NoLandlock = landlockSupport()
	return s
})

// findBubblewrap returns the first bwrap that is safe to run.
func findBubblewrap(places []string) (string, error) {
	var unsafe error
	for _, path := range places {
		f, err := private.OpenExecutable(path)
		if err == nil {
			f.Close()
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && unsafe == nil {
			unsafe = fmt.Errorf("bubblewrap cannot be used: %w", err)
		}
	}
	if unsafe != nil {
		return "", unsafe
	}
	return "", errors.New("bubblewrap is not installed: install the package bubblewrap")
}

// tryBubblewrap runs a command in a sandbox like that of a session, and returns the
// version of bwrap.
func tryBubblewrap(path string) (version string, err error) {
	dir, err := scratch.Make("probe")
	if err != nil {
		return "", fmt.Errorf("bubblewrap cannot be tried: %w", err)
	}
	defer dir.Close()
	out, err := runProbe(path, "--version")
	if err != nil {
		return "", fmt.Errorf("bubblewrap at %s does not run: %w", path, err)
	}
	version = strings.TrimSpace(strings.TrimPrefix(out, "bubblewrap "))
	p := Policy{Level: Strict, Method: Bubblewrap, Dir: "/", Temp: dir.Path, Network: Network{Off: true}}
	argv := bubblewrapArgv(p, systemFacts(nil), 0)
	if _, err := runProbe(path, append(argv, "--", "true")...); err != nil {
		return version, fmt.Errorf("bubblewrap at %s cannot make a sandbox for this user: %w%s", path, err, namespaceHint())
	}
	return version, nil
}

// runProbe runs bwrap and returns what it prints. An error has its message.
func runProbe(path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = "/"
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if line, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n"); err != nil && line != "" {
		err = errors.New(strings.TrimPrefix(line, "bwrap: "))
	}
	return stdout.String(), err
}

// namespaceHint says which setting of the kernel forbids user namespaces.
func namespaceHint() string {
	for _, setting := range []struct{ file, off, hint string }{
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "set kernel.unprivileged_userns_clone to 1"},
		{"/proc/sys/user/max_user_namespaces", "0", "set user.max_user_namespaces above 0"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "install the AppArmor profile of bwrap"},
	} {
		value, err := os.ReadFile(setting.file)
		if err == nil && strings.TrimSpace(string(value)) == setting.off {
			return "; the kernel keeps user namespaces from this user: " + setting.hint
		}
	}
	return ""
}

// WithoutSockets reports whether sandboxed programs here may be under Landlock, where
// they reach no Unix socket outside.
func WithoutSockets() bool {
	_, missing := landlockSupport()
	return missing == ""
}

// landlockSupport returns the ABI of Landlock, and why it cannot be used.
func landlockSupport() (abi int, missing string) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == unix.EOPNOTSUPP:
		return 0, "Landlock is off in this kernel: start it with landlock in the list lsm="
	case errno != 0:
		return 0, "this kernel has no Landlock: Linux 6.2 or newer has what is needed"
	case version < minABI:
		return int(version), fmt.Sprintf("this kernel has ABI %d of Landlock and %d is needed: Linux 6.2 or newer has it", version, minABI)
	}
	return int(version), ""
}
