package owner

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// refuseHugePages keeps the runtime's tables, of which it touches little,
// from taking 2 MiB each. A child inherits it, so the program is started
// before.
func refuseHugePages() {
	_ = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) // the owner is larger, and no less right
}

// unmapText takes the executable's text and constants out of this process's
// memory, and returns how many bytes of memory are its own alone. The text is in
// private mappings of a file of which no page was written, so what is needed
// again comes back from the page cache by a minor fault (madvise(2),
// MADV_DONTNEED). What the dynamic linker has written, before it made it
// read-only (RELRO), would come back as it is in the file, and the next call
// through it would end the owner.
func unmapText() (own uint64) {
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0
	}
	defer maps.Close()
	text, own := unwritten(maps)
	for _, m := range text {
		_, _, _ = unix.RawSyscall(unix.SYS_MADVISE, m.start, m.size, unix.MADV_DONTNEED)
	}
	return own
}

// mapping is a part of a process's memory.
type mapping struct{ start, size uintptr }

// smapsLine is unwritten's; longer lines end its search.
var smapsLine [8 << 10]byte

// unwritten reads proc_pid_smaps(5): the private mappings of files that cannot
// be written and have no page that was, and how many bytes are in pages that
// were written. It makes next to no garbage, which an owner at rest would only
// have to collect, and runs once at a time.
func unwritten(smaps io.Reader) (text []mapping, own uint64) {
	var now mapping
	candidate := false
	lines := bufio.NewScanner(smaps)
	lines.Buffer(smapsLine[:0], len(smapsLine))
	for lines.Scan() {
		line := lines.Bytes()
		if m, ok, head := parseText(line); head {
			now, candidate = m, ok
			continue
		}
		if size, is := bytes.CutPrefix(line, []byte("Anonymous:")); is {
			kib, _ := strconv.ParseUint(string(bytes.TrimSuffix(bytes.TrimSpace(size), []byte(" kB"))), 10, 32)
			own += kib << 10
			if candidate && string(bytes.TrimSpace(size)) == "0 kB" {
				text = append(text, now)
			}
			candidate = false
		}
	}
	return text, own
}

// parseText parses the head of a mapping's description, such as
// "00400000-00401000 r-xp 00000000 fe:00 1234  /usr/bin/x". ok says that it is
// a private mapping of a file that cannot be written.
func parseText(line []byte) (m mapping, ok, head bool) {
	first, rest, isRange := bytes.Cut(line, []byte("-"))
	if !isRange || len(first) == 0 || bytes.IndexByte(first, ' ') >= 0 {
		return m, false, false
	}
	var field [5][]byte // end, permissions, offset, device, inode
	for i := range field {
		rest = bytes.TrimLeft(rest, " ")
		field[i], rest, _ = bytes.Cut(rest, []byte(" "))
	}
	start, startErr := strconv.ParseUint(string(first), 16, strconv.IntSize)
	end, endErr := strconv.ParseUint(string(field[0]), 16, strconv.IntSize)
	perms := field[1]
	if startErr != nil || endErr != nil || end < start || len(perms) != 4 || len(field[4]) == 0 {
		return m, false, false
	}
	return mapping{uintptr(start), uintptr(end - start)}, string(field[4]) != "0" && perms[1] == '-' && perms[3] == 'p', true
}
