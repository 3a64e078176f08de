package host

import (
	"context"
	"encoding/json"
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

// Provider is a host as who starts sessions sees it, outside of the owner. Its
// methods are safe for concurrent use.
type Provider interface {
	// Name is that of the host, which is recorded with each session.
	Name() string
	// Usable returns nil, or why no session can be started here. It may ask
	// the host, for a few seconds at most.
	Usable(ctx context.Context) error
	// Config is what the host in the owner has to know of a start; an error
	// says that none can start.
	Config(ctx context.Context) (json.RawMessage, error)
	// Reap ends what the host runs of sessions that have no state directory
	// any more and are not known to the caller, and returns their ids. What
	// is not its own beyond doubt is not touched.
	Reap(ctx context.Context, known func(id string) (bool, error)) ([]string, error)
	// Complaint is what the host said of settings of the user's that it went
	// on without, "" for nothing.
	Complaint() string
}

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
