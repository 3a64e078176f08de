package host

import (
	"errors"
	"slices"
	"strings"

	"middleman/terminal"
)

const (
	// AdoptArg is the argument of an owner that its host has started, for a
	// program whose owner was killed.
	AdoptArg = "--adopt"
	// LockFile is, in the state directory, the flock of a host that outlives
	// owners: held, the session lives, also without one.
	LockFile = "host.lock"
)

// ErrGap says that output was lost, nobody knows how much.
var ErrGap = errors.New("output was lost")

// Fault says that a host failed before it had to do with the program or its
// directory: another one may well start it.
type Fault struct{ Err error }

func (f *Fault) Error() string { return f.Err.Error() }

func (f *Fault) Unwrap() error { return f.Err }

// Environ is the environment of a program: what the specification says, and
// what the terminal and the session are, each variable once.
func Environ(spec terminal.Spec, term string) []string {
	ours := []string{"TERM=" + term, "COLORTERM=truecolor", "MIDDLEMAN_SESSION=" + spec.ID}
	if spec.Workspace != "" {
		ours = append(ours, "MIDDLEMAN_WORKSPACE="+spec.Workspace)
	}
	env := slices.DeleteFunc(slices.Clone(spec.Env), func(given string) bool {
		name, _, _ := strings.Cut(given, "=")
		return slices.ContainsFunc(ours, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	})
	return append(env, ours...)
}
