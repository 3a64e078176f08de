//go:build unix && !linux

package tmux

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// processes asks ps(1), in its POSIX form. There is no session in it; the
// process group stands for it.
func processes() ([]process, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,pgid=,stat=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []process
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		pid, err1 := strconv.Atoi(f[0])
		parent, err2 := strconv.Atoi(f[1])
		group, err3 := strconv.Atoi(f[2])
		if err1 != nil || err2 != nil || err3 != nil {
			continue
		}
		all = append(all, process{
			pid: pid, parent: parent, session: group,
			zombie: strings.HasPrefix(f[3], "Z"),
		})
	}
	return all, nil
}

// leftOf finds nothing here: there is no proof that a process was a session's
// whose launcher was killed.
func leftOf(string) func() ([]int, error) {
	return func() ([]int, error) { return nil, nil }
}
