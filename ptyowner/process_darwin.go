package ptyowner

import (
	"errors"
	"os"
	"time"

	"middleman/internal/proc"
)

// openOwn is the path that this process was started from.
func openOwn() (executable, error) {
	path, err := os.Executable()
	return executable{path: path}, err
}

// processStart is not told here.
func processStart(int) string { return "" }

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

// strayProcesses: this system shows no environments; what an owner that was
// killed left behind is not found.
func strayProcesses(stateDir) (found []proc.Process, sure bool, err error) { return nil, true, nil }

// runningImage: this system does not say which file a process executes.
func runningImage() string { return "" }

func imageOf(os.FileInfo) string { return "" }

// statProgram: this system does not say which file a process executes.
func statProgram(int) (os.FileInfo, error) { return nil, errors.ErrUnsupported }

// bootTime is not asked for here.
func bootTime() time.Time { return time.Time{} }
