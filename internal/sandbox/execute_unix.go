//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// execute replaces this process by a program, which is looked for in PATH, with more
// variables than this process has. It returns only an error.
func execute(argv []string, more ...string) error {
	path, err := exec.LookPath(argv[0])
	switch {
	case errors.Is(err, exec.ErrDot): // what the user means by PATH
	case errors.Is(err, os.ErrPermission):
		return &startError{exitNotRun, fmt.Errorf("run %s: %w", argv[0], err)}
	case err != nil:
		return &startError{exitNotFound, fmt.Errorf("run %s: %w", argv[0], err)}
	}
	err = unix.Exec(path, argv, environ(append(os.Environ(), more...)))
	return &startError{exitNotRun, fmt.Errorf("run %s: %w", path, err)}
}
