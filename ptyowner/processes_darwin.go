package ptyowner

import (
	"os"

	"middleman/internal/proc"
)

// processes lists the processes of the session, ended ones too: those whose
// session or process group is the program's, the owner's children, and what
// descends from them.
func (o *owner) processes() ([]proc.Process, error) {
	t, err := proc.All()
	if err != nil {
		return nil, err
	}
	members := make(map[int]bool)
	for _, p := range t {
		if p.PID != os.Getpid() && (p.Session == o.pid || p.Group == o.pid) {
			members[p.PID] = true
		}
	}
	return t.Below(os.Getpid(), members), nil
}
