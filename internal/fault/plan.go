//go:build faults

package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Action is what a place does.
type Action string

// The actions. Error returns the errors of Full and Broken; Here ignores them.
const (
	Kill   Action = "kill"   // the process ends, as by SIGKILL
	Hold   Action = "hold"   // the process reports and waits until it is released
	Full   Action = "full"   // ENOSPC
	Broken Action = "broken" // EIO
	Panic  Action = "panic"  // the place panics, as a bug of ours would
	Note   Action = "note"   // the visit is counted, nothing else happens
)

// Plan says what places do, in the processes that have its Variable in their
// environment.
type Plan struct{ dir string }

// NewPlan returns a plan in dir, an empty directory, that says nothing yet.
func NewPlan(dir string) *Plan { return &Plan{dir: dir} }

// Variable returns the environment variable that makes a process follow the
// plan.
func (p *Plan) Variable() (name, value string) { return variable, p.dir }

// Set says what a place does. In each process it skips the first after visits.
// In all processes together it acts the given number of times; 0 means always.
func (p *Plan) Set(name string, action Action, after, times int) error {
	path := fileName(p.dir, name)
	if action == Hold {
		for _, suffix := range []string{reachedSuffix, releaseSuffix} {
			if err := makeFIFO(path + suffix); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	// Rename, so that a concurrent reader sees a complete file.
	if err := os.WriteFile(path+".new", fmt.Appendf(nil, "%s %d %d\n", action, after, times), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Heal removes what the plan says for a place.
func (p *Plan) Heal(name string) error {
	if err := os.Remove(fileName(p.dir, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Await waits until a process is held at a place, and returns its id.
func (p *Plan) Await(name string) (pid int, err error) {
	data, err := os.ReadFile(fileName(p.dir, name) + reachedSuffix)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(data), &pid)
	return pid, err
}

// Release releases the process that Await returned. It blocks until that
// process waits for the release.
func (p *Plan) Release(name string) error {
	f, err := os.OpenFile(fileName(p.dir, name)+releaseSuffix, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// Reached returns how often a place acted.
func (p *Plan) Reached(name string) (int, error) { return reached(p.dir, name) }
