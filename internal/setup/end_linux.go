package setup

import (
	"fmt"
	"os"
	"time"

	"middleman/internal/proc"
)

// End kills every process of this user that has mark (NAME=value) in its
// environment, and all their descendants. It blocks until none is left. After
// endTime it returns an error that names those that are left.
func End(mark string) error {
	var sure bool // from the last look, like lookErr
	var lookErr error
	stop := proc.NewStop(func() (found []proc.Process, err error) {
		found, sure, lookErr = marked(mark)
		if len(found) == 0 && lookErr == nil {
			found = newborn(mark)
		}
		return found, lookErr
	})
	stop.Within = endTime
	stop.Quiet, stop.Unsure = 2, func() bool { return !sure }
	if left := stop.Kill(); len(left) > 0 {
		return fmt.Errorf("processes %v do not end", left)
	}
	return lookErr
}

// endTime is longer than that of a session's stop. Processes are looked for by their
// environment here, and beside ten busy ones 5 s were too short three times to catch
// eight that fork all the time.
const endTime = 15 * time.Second

// huntTime is how long a look that found nothing watches what starts. A process
// of a chain takes about a millisecond to start the next one.
const huntTime = 10 * time.Millisecond

// newborn returns a process with mark that has just started, or none.
func newborn(mark string) []proc.Process {
	p, ok := proc.Hunt(mark, huntTime)
	if !ok || p.PID == os.Getpid() {
		return nil
	}
	return []proc.Process{p}
}

// marked lists the processes with mark that have not ended, and their
// descendants, but not this process. sure is false if a process may have the mark
// but does not show it yet (see proc.HasEnv).
func marked(mark string) (found []proc.Process, sure bool, err error) {
	t, err := proc.All()
	if err != nil {
		return nil, true, fmt.Errorf("look for processes that are left: %w", err)
	}
	self := os.Getpid()
	members, sure := t.WithEnv(mark, func(p proc.Process) bool { return p.Dead || p.PID == self })
	return t.Without(t.Below(0, members), func(p proc.Process) bool { return p.Dead || p.PID == self }), sure, nil
}
