package life

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
)

// firstFile is beside the lock. It has what bwrap writes to --info-fd.
const firstFile = "sandbox.json"

// First returns the process id of the first process in the sandbox of the session with
// that state directory. It is that of another sandbox's unless Held is true afterwards. It
// is an error if it is not written, because no program runs there yet, or if no such
// process runs.
func First(dir string) (pid int, err error) {
	raw, err := private.ReadFile(filepath.Join(dir, firstFile))
	if err != nil {
		return 0, err
	}
	var info struct {
		PID int `json:"child-pid"`
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return 0, fmt.Errorf("%s names no process: %w", firstFile, err)
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(info.PID) + "/status")
	if err == nil && !isFirst(status) {
		err = fmt.Errorf("process %d is the first of no namespace", info.PID)
	}
	return info.PID, err
}

// isFirst reports whether status, of /proc/PID/status, is of the first process of a pid
// namespace below this one. A regular expression would initialise packages that come
// before the program's start, see package helper of the command.
func isFirst(status []byte) bool {
	for line := range bytes.Lines(status) {
		if ids, is := bytes.CutPrefix(line, []byte("NSpid:")); is {
			all := bytes.Fields(ids)
			return len(all) > 1 && string(all[len(all)-1]) == "1"
		}
	}
	return false
}

// Begin takes the lock in a session's state directory, and makes the file for what bwrap
// tells of its first process. The caller closes both. The error is private.ErrHeld if
// something lives in an earlier sandbox of the session.
func Begin(dir string) (lock, first *os.File, err error) {
	lock, err = private.TryLockFile(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, nil, err
	}
	first, err = private.Create(filepath.Join(dir, firstFile))
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return lock, first, nil
}

// Parcel returns a descriptor, to be inherited, that keeps files open for as long as it is open itself: they
// are on their way to a socket that nobody reads. bwrap keeps a single descriptor open
// (--sync-fd), and a file that it kept itself could be opened in /proc by the program.
func Parcel(files ...int) (int, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, fmt.Errorf("keep files open: %w", err)
	}
	defer unix.Close(pair[0])
	if err := unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(files...), nil, 0); err != nil {
		return -1, fmt.Errorf("keep files open: %w", errors.Join(err, unix.Close(pair[1])))
	}
	return pair[1], nil
}
