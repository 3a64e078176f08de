package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// start replaces this process by the program under sandbox-exec(1). It returns only
// an error.
func start(p Policy, _ Proxy, argv []string) error {
	if p.Method != Seatbelt {
		return fmt.Errorf("the policy has the method %s, and macOS has %s", p.Method, Seatbelt)
	}
	for _, path := range slices.Concat(p.Writable, p.Hidden, p.Show, p.ReadOnly, []string{p.Dir, p.Temp}) {
		real, err := filepath.EvalSymlinks(path)
		if errors.Is(err, os.ErrNotExist) && slices.Contains(p.Hidden, path) {
			continue
		}
		if err == nil && real != path {
			err = fmt.Errorf("a symbolic link in it leads to %s, and a policy has none", real)
		}
		if err != nil {
			return fmt.Errorf("look at %s: %w", path, err)
		}
	}
	if p.Limits != (Limits{}) {
		return errors.New("macOS has no limits that a sandbox can set")
	}
	if err := unix.Chdir(p.Dir); err != nil {
		return fmt.Errorf("start in %s: %w", p.Dir, err)
	}
	prog, err := look(append([]string{seatbeltPath, "-p", seatbeltProfile(p)}, argv...), p.Env...)
	if err != nil {
		return err
	}
	return prog.execute()
}

// runInner is for Linux alone.
func runInner([]string, Proxy) error {
	return fmt.Errorf("%s: %w", innerCommand, errors.ErrUnsupported)
}
