package systemd

import (
	"fmt"
	"os"
)

// UnitOf returns the unit that a process runs in. The zero Unit without an
// error means none.
func UnitOf(pid int) (Unit, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return Unit{}, fmt.Errorf("read the cgroup of process %d: %w", pid, err)
	}
	return parseUnit(string(text)), nil
}

// Booted reports whether systemd runs this system (sd_booted(3)).
func Booted() bool {
	info, err := os.Lstat("/run/systemd/system")
	return err == nil && info.IsDir()
}
