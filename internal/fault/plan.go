//go:build faults

package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Action is what happens at a place.
type Action string

// The actions. Error returns the last two; Here leaves them out.
const (
	Kill   Action = "kill"   // the process ends, as by SIGKILL
	Hold   Action = "hold"   // it reports and waits until it is released
	Full   Action = "full"   // ENOSPC
	Broken Action = "broken" // EIO
	Panic  Action = "panic"  // as a fault of ours would
	Note   Action = "note"   // it is noted that the place was reached
)

// Plan says what happens at which place, in the processes that run with its
// Env.
type Plan struct{ dir string }

// NewPlan makes a plan that says nothing yet in an empty directory.
func NewPlan(dir string) *Plan { return &Plan{dir: dir} }

// Variable is what a process that acts on the plan has in its
// environment.
func (p *Plan) Variable() (name, value string) { return variable, p.dir }

// Set says what happens at a place, after so many visits of each process, and
// how many times, in all processes together; 0 times is for ever.
func (p *Plan) Set(name string, action Action, after, times int) error {
	path := fileName(p.dir, name)
	if action == Hold {
		for _, suffix := range []string{reachedSuffix, releaseSuffix} {
			if err := makeFIFO(path + suffix); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	// A rename: whoever reads it at this moment sees all or nothing.
	if err := os.WriteFile(path+".new", fmt.Appendf(nil, "%s %d %d\n", action, after, times), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Heal lets nothing happen at a place any more.
func (p *Plan) Heal(name string) error {
	if err := os.Remove(fileName(p.dir, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Await returns when a process is held at a place, and its id.
func (p *Plan) Await(name string) (pid int, err error) {
	data, err := os.ReadFile(fileName(p.dir, name) + reachedSuffix)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(data), &pid)
	return pid, err
}

// Release lets the process go that Await returned. It waits until that has
// come to where it is held.
func (p *Plan) Release(name string) error {
	f, err := os.OpenFile(fileName(p.dir, name)+releaseSuffix, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// Reached returns how often something happened at a place.
func (p *Plan) Reached(name string) (int, error) { return reached(p.dir, name) }
