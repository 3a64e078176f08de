package git

import (
	"errors"
	"fmt"
	"strings"
)

// What a caller can branch on. Each error that wraps one of these is one line
// that names the directory or branch.
var (
	ErrNotRepository = errors.New("not a git repository")
	// ErrForeign: git refuses a repository of another user, whose
	// configuration it would run.
	ErrForeign     = errors.New("the repository belongs to another user")
	ErrBranchTaken = errors.New("the branch exists already")
	// ErrBadRequest: the repository is in order, and cannot be used like that.
	ErrBadRequest = errors.New("not a usable request")
)

// Error is a git command that failed.
type Error struct {
	Args   []string
	Dir    string
	Code   int    // exit status, or -1
	Stderr string // the line that says why
	Err    error
}

// errSilent is of a program that ends well and answers nothing: it is not git.
var errSilent = errors.New("git answered nothing; is the git that is found first in PATH one?")

// Silent is the error to return where c ended well and did not answer.
func (c Command) Silent() error {
	return &Error{Args: c.Args, Dir: c.Dir, Code: -1, Err: errSilent}
}

// Odd is the error to return where the answer of c makes no sense. It quotes
// the first 200 bytes.
func (c Command) Odd(answer string) error {
	if answer == "" {
		return c.Silent()
	}
	const most = 200
	if len(answer) > most {
		answer = answer[:most]
	}
	return &Error{Args: c.Args, Dir: c.Dir, Code: -1, Err: fmt.Errorf("git answered %q, which is no answer to that", answer)}
}

// Error is one line.
func (e *Error) Error() string {
	why := e.Stderr
	if why == "" || e.Code < 0 {
		why = strings.TrimSpace(why + " " + e.Err.Error())
	}
	return fmt.Sprintf("git %s in %s: %s", strings.Join(e.Args, " "), e.Dir, why)
}

// Unwrap gives the cause: an *exec.ExitError or a context's error.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode is git's exit status where err is an Error, else -1.
func ExitCode(err error) int {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Code
	}
	return -1
}
