package owner

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// refuseHugePages keeps the runtime's tables, of which it uses little, from
// taking 2 MiB each. A child inherits the setting, so the program must be
// started before.
func refuseHugePages() {
	_ = unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0) // on failure the owner only takes more memory
}

// unmapText drops the executable's text and constants from this process's
// memory, and returns how many bytes of memory are private to the process. The
// text is in private file mappings without a written page, so a page that is
// needed again comes back from the page cache by a minor fault (madvise(2),
// MADV_DONTNEED). Mappings with written pages must stay: the dynamic linker
// writes some before it makes them read-only (RELRO). Dropped, they would come
// back as they are in the file, and the next call through them would crash the
// owner.
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

// mapping is an address range of a process.
type mapping struct{ start, size uintptr }

// smapsLine is unwritten's buffer for one line. A longer line ends its search.
var smapsLine [8 << 10]byte

// unwritten reads proc_pid_smaps(5). text holds the private file mappings that
// are not writable and have no written page; own is how many bytes are in
// written pages. unwritten allocates next to nothing, because an owner at rest
// would have to collect that. It must not run concurrently.
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

// parseText parses the first line of a mapping's description, such as
// "00400000-00401000 r-xp 00000000 fe:00 1234  /usr/bin/x". head reports
// whether line is one. ok means that the mapping is private, of a file, and not
// writable.
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
