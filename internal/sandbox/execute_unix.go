//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// program is what is executed in place of this process.
type program struct {
	path      string
	argv, env []string
}

// look looks for a program in PATH, which is to have more variables than this process.
func look(argv []string, more ...string) (program, error) {
	path, err := exec.LookPath(argv[0])
	switch {
	case errors.Is(err, exec.ErrDot): // what the user means by PATH
	case errors.Is(err, os.ErrPermission):
		return program{}, &startError{exitNotRun, fmt.Errorf("run %s: %w", argv[0], err)}
	case err != nil:
		return program{}, &startError{exitNotFound, fmt.Errorf("run %s: %w", argv[0], err)}
	}
	return program{path: path, argv: argv, env: environ(append(os.Environ(), more...))}, nil
}

// execute replaces this process by the program. It returns only an error.
func (p program) execute() error {
	err := unix.Exec(p.path, p.argv, p.env)
	return &startError{exitNotRun, fmt.Errorf("run %s: %w", p.path, err)}
}
