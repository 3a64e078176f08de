package git

import (
	"errors"
	"fmt"
	"strings"
)

// Errors that a caller can branch on. The message of each error that wraps one
// of them is one line that names the directory or branch.
var (
	ErrNotRepository = errors.New("not a git repository")
	// ErrForeign: git refuses a repository that another user owns, because git
	// would run its configuration.
	ErrForeign     = errors.New("the repository belongs to another user")
	ErrBranchTaken = errors.New("the branch exists already")
	// ErrElsewhere: the .git of a checkout is not what git has put there. A program
	// may have replaced it.
	ErrElsewhere = errors.New("it does not lead to the workspace's repository")
	// ErrBadRequest: the repository is valid but cannot be used in this way.
	ErrBadRequest = errors.New("not a usable request")
)

// Error describes a git command that failed.
type Error struct {
	Args   []string
	Dir    string
	Code   int    // exit status, or -1 if there is none
	Stderr string // the line of standard error that gives the reason
	Err    error
}

// errUnlisted: git could not look into a directory, so what it has printed is not all.
var errUnlisted = errors.New("git could not look into a directory")

// errSilent: the program exited with 0 and printed nothing, so it is not git.
var errSilent = errors.New("git printed nothing: is the first git in PATH really git?")

// Silent returns the error for a command that exited with 0 and printed
// nothing.
func (c Command) Silent() error {
	return &Error{Args: c.Args, Dir: c.Dir, Code: -1, Err: errSilent}
}

// Odd returns the error for an output that makes no sense. It quotes the first
// 200 bytes of answer.
func (c Command) Odd(answer string) error {
	if answer == "" {
		return c.Silent()
	}
	const most = 200
	if len(answer) > most {
		answer = answer[:most]
	}
	return &Error{Args: c.Args, Dir: c.Dir, Code: -1, Err: fmt.Errorf("git printed %q, which middleman does not understand", answer)}
}

// Error returns one line.
func (e *Error) Error() string {
	why := e.Stderr
	if why == "" || e.Code < 0 {
		why = strings.TrimSpace(why + " " + e.Err.Error())
	}
	return fmt.Sprintf("git %s in %s: %s", strings.Join(e.Args, " "), e.Dir, why)
}

// Unwrap returns the cause, such as an *exec.ExitError or a context's error.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode returns git's exit status if err is an *Error, else -1.
func ExitCode(err error) int {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Code
	}
	return -1
}
