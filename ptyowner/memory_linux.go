package ptyowner

import (
	"bufio"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// refuseHugePages keeps the runtime's tables, of which it touches little,
// from taking 2 MiB each. A child inherits it, so the program is started
// before.
func refuseHugePages() {
	_ = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) // the owner is larger, and no less right
}

// unmapText takes the executable's text and constants out of this process's
// memory. They are a private mapping of a file that nobody writes through it,
// so what is needed again comes back from the page cache by a minor fault
// (madvise(2), MADV_DONTNEED).
func unmapText() {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if start, size, ok := parseText(lines.Text()); ok {
			_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, start, size, unix.MADV_DONTNEED)
		}
	}
}

// parseText parses a line of proc_pid_maps(5). ok says that it is a private
// mapping of a file that cannot be written.
func parseText(line string) (start, size uintptr, ok bool) {
	var end, offset uintptr
	var perms, device string
	var inode uint64
	_, err := fmt.Sscanf(line, "%x-%x %s %x %s %d", &start, &end, &perms, &offset, &device, &inode)
	if err != nil || inode == 0 || perms[1] != '-' || perms[3] != 'p' {
		return 0, 0, false
	}
	return start, end - start, true
}
