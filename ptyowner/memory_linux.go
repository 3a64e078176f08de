package ptyowner

import (
	"bufio"
	"fmt"
	"io"
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
// memory. They are private mappings of a file of which no page was written, so
// what is needed again comes back from the page cache by a minor fault
// (madvise(2), MADV_DONTNEED). What the dynamic linker has written, before it
// made it read-only (RELRO), would come back as it is in the file, and the next
// call through it would end the owner.
func unmapText() {
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	for _, m := range unwritten(maps) {
		_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, m.start, m.size, unix.MADV_DONTNEED)
	}
}

// mapping is a part of a process's memory.
type mapping struct{ start, size uintptr }

// unwritten reads proc_pid_smaps(5): the private mappings of files that cannot
// be written and have no page that was.
func unwritten(smaps io.Reader) (found []mapping) {
	var now mapping
	candidate := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Text()
		if start, size, ok, head := parseText(line); head {
			now, candidate = mapping{start, size}, ok
			continue
		}
		var kib uint64
		if n, _ := fmt.Sscanf(line, "Anonymous: %d kB", &kib); n == 1 {
			if candidate && kib == 0 {
				found = append(found, now)
			}
			candidate = false
		}
	}
	return found
}

// parseText parses the head of a mapping's description. ok says that it is a
// private mapping of a file that cannot be written.
func parseText(line string) (start, size uintptr, ok, head bool) {
	var end, offset uintptr
	var perms, device string
	var inode uint64
	_, err := fmt.Sscanf(line, "%x-%x %s %x %s %d", &start, &end, &perms, &offset, &device, &inode)
	if err != nil || len(perms) != 4 || end < start {
		return 0, 0, false, false
	}
	return start, end - start, inode != 0 && perms[1] == '-' && perms[3] == 'p', true
}
