package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unixABI is the first ABI of Landlock that refuses to connect to Unix sockets.
const unixABI = 9

const (
	toRead      = unix.LANDLOCK_ACCESS_FS_READ_FILE
	toList      = unix.LANDLOCK_ACCESS_FS_READ_DIR
	toWriteFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	toWriteDir  = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	toMakeDevice = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	// onFile are the rights that a rule for a file may have.
	onFile = toRead | toWriteFile | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

// devices are the devices that a program may use. All others can be had neither to
// read nor to write: a disk has all that is hidden.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts/ptmx"}

// ruleset is a set of Landlock rules that is being made.
type ruleset struct {
	fd      int
	handled uint64 // the rights that nobody has without a rule
}

// newRuleset makes a ruleset that takes rights away, and scopes for signals and
// abstract sockets if abi has them.
func newRuleset(rights uint64, abi int) (*ruleset, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, fmt.Errorf("make a ruleset of Landlock: %w", errno)
	}
	return &ruleset{fd: int(fd), handled: rights}, nil
}

// allow gives rights for a path, and for all below it if it is a directory. There is
// no link in it.
func (r *ruleset) allow(path string, rights uint64) error {
	return r.allowBut(path, rights, nil)
}

// allowBut gives rights for a path and for all below it but what is in hidden.
func (r *ruleset) allowBut(path string, rights uint64, hidden []string) error {
	fd, info, err := open(path)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return r.allowAt(fd, info.Mode&unix.S_IFMT == unix.S_IFDIR, path, rights, hidden)
}

// allowAt is allowBut for what fd is open on. Landlock has no rules that forbid: a
// directory that something is hidden in gets no rule, and all else in it gets one of
// its own.
func (r *ruleset) allowAt(fd int, isDir bool, path string, rights uint64, hidden []string) error {
	if !slices.ContainsFunc(hidden, func(h string) bool { return below(h, path) }) {
		return r.addRule(fd, isDir, path, rights)
	}
	entries, err := entriesIn(fd, path)
	if errors.Is(err, os.ErrPermission) {
		return nil // the program cannot list it either
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", path, err)
	}
	for _, e := range entries {
		inner := filepath.Join(path, e.Name())
		if slices.Contains(hidden, inner) {
			continue
		}
		if err := r.allowIn(fd, e, inner, rights, hidden); err != nil {
			return err
		}
	}
	return nil
}

// allowIn is allowBut for a name in the directory that dir is open on.
func (r *ruleset) allowIn(dir int, e os.DirEntry, path string, rights uint64, hidden []string) error {
	if e.Type()&os.ModeSymlink != 0 {
		return nil // what it leads to has a rule or is hidden
	}
	fd, err := unix.Openat(dir, e.Name(), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil // gone, or of no use to the program
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	return r.allowAt(fd, e.IsDir(), path, rights, hidden)
}

// entriesIn lists the directory that fd is open on.
func entriesIn(fd int, path string) ([]os.DirEntry, error) {
	list, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(list), path)
	defer f.Close()
	return f.ReadDir(-1)
}

// addRule gives rights for what fd is open on.
func (r *ruleset) addRule(fd int, isDir bool, path string, rights uint64) error {
	if !isDir {
		rights &= onFile
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)}
	if attr.Allowed_access == 0 {
		return nil
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("add a rule of Landlock for %s: %w", path, errno)
	}
	return nil
}

// restrict puts this thread under the rules, and what it executes.
func (r *ruleset) restrict() error {
	defer unix.Close(r.fd)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("restrict this process by Landlock: %w", errno)
	}
	return nil
}

// underLandlock restricts this thread as p says. The caller executes a program next.
func underLandlock(p Policy, abi int) error {
	if abi < minABI {
		return fmt.Errorf("this kernel has ABI %d of Landlock, and a sandbox needs %d", abi, minABI)
	}
	rights := uint64(toRead | toList | toWriteFile | toWriteDir | toMakeDevice)
	if abi >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= unixABI {
		rights |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	r, err := newRuleset(rights, abi)
	if err != nil {
		return err
	}
	if err := r.allow("/", toList); err != nil {
		return err
	}
	hidden := slices.Concat([]string{"/dev"}, sysHidden, p.Hidden)
	if err := r.allowBut("/", toRead, hidden); err != nil {
		return err
	}
	for _, path := range p.Show {
		err := r.allowBut(path, toRead, hidden)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for i, path := range append([]string{p.Temp}, p.Writable...) {
		rights := uint64(toRead | toList | toWriteFile | toWriteDir | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
		if i > 0 { // the directory for temporary files may be the host's, with sockets of others
			rights |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
		}
		if err := r.allow(path, rights); err != nil {
			return err
		}
	}
	for _, path := range append(ownTerminals(), devices...) {
		if k, err := kindOf(path); err != nil || k != file {
			continue // systems differ; a link leads to one of the others
		}
		if err := r.allow(path, toRead|toWriteFile|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV); err != nil {
			return err
		}
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	return r.restrict()
}

// confineWrites lets this thread, and what it executes, write to paths alone, and to
// the files of /dev and /proc. Inside bubblewrap that stops what is mounted on the
// host later: it appears inside too, and is not read-only there.
//
// It scopes signals and abstract sockets too. The processes of bwrap are under no
// rules: whoever is under some cannot mount, and a set of scopes alone below this one
// would keep files from moving between directories.
func confineWrites(paths []string) error {
	abi, _ := landlockSupport()
	r, err := newRuleset(toWriteFile|toWriteDir|toMakeDevice, abi)
	if err != nil {
		return err
	}
	for _, path := range append([]string{"/dev", "/dev/shm"}, paths...) {
		if err := r.allow(path, toWriteFile|toWriteDir); err != nil {
			return err
		}
	}
	if err := r.allow("/proc", toWriteFile); err != nil {
		return err
	}
	return r.restrict()
}

// ownTerminals returns the terminals that the standard descriptors are.
func ownTerminals() (paths []string) {
	for fd := range 3 {
		path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err == nil && below(path, "/dev/pts") && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// dropCapabilities takes all capabilities from this thread and from what it
// executes, also as root.
func dropCapabilities() error {
	for c := uintptr(0); c <= 63; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // the kernel knows no more
		}
		if errors.Is(err, unix.EPERM) && os.Geteuid() != 0 {
			break // an ordinary user has none, and gets none without new privileges
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
