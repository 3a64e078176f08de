package owner

import (
	"os"

	"middleman/internal/cgroup"
	"middleman/internal/proc"
)

// processes lists the processes of the session, also those that have ended: all
// descendants of the host's root process, which is a subreaper so that none is
// missed, and the processes in the session's cgroup, if there is one. It leaves
// out the owners of other sessions that were started within this one, and their
// processes.
func (o *owner) processes() ([]proc.Process, error) {
	t, err := proc.All()
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	root, spare := o.term.Root()
	if root == 0 {
		found, _, err := o.dir.StrayProcesses()
		return found, err
	}
	var members map[int]bool
	if o.dir.HasScope() {
		members = cgroup.Find(o.spec.ID).Members()
	}
	found := t.Below(root, members)
	return t.Without(found, func(p proc.Process) bool {
		return root != self && p.PID == self || p.PID == spare || o.dir.IsOtherOwner(p)
	}), nil
}
