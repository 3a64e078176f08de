//go:build unix

package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"middleman/internal/plainfile"
)

// OwnUser returns the id of this process's user: a number, or on Windows a SID.
func OwnUser() (uid *int, sid string) {
	own := os.Geteuid()
	return &own, ""
}

// maxLinks is how many symbolic links a path may go through.
const maxLinks = 40

// place says by which rules judge checks a component of a path.
type place int

const (
	above   place = iota // a component above the last
	ours                 // a directory of middleman's state
	trusted              // a file or directory to read, that no other user can write
	program              // a file to run, that only this user and root can write
)

// Dir returns an error unless path is safe as a directory of middleman's state. It
// must be a directory and no symbolic link, belong to this user, and not be
// writable by others. Each component above it must belong to this user or root.
// Only a sticky directory above it may be writable by others; one of this user's
// may also be writable by the group whose only member is this user. Links above
// it are followed and checked too. The error is an *UnsafeError, which names all
// problems, or fs.ErrNotExist if path is missing and the rest of it is safe.
func Dir(path string) error { return check(path, ours) }

// judgeDir returns what is wrong with a directory of middleman's state, or nil.
func judgeDir(path string, info fs.FileInfo) *Problem { return judge(path, info, ours) }

// Trusted returns an error unless path is safe to read. It must be a file or a
// directory (an open of a FIFO would block), and belong to this user or root. It
// may be writable only by its owner or by the group whose only member is this
// user; a sticky directory may be writable by others. The same holds for all
// components above it. Links are followed, also in the last component.
func Trusted(path string) error { return check(path, trusted) }

// MakeDir makes the directory path and its missing parents (0700), after it has
// checked the components that exist. It removes all permissions of group and
// others from path. If path is not safe, it returns the error of Dir.
func MakeDir(path string) error {
	err := Dir(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
		err = Dir(path)
	}
	if err != nil {
		return err
	}
	_, err = Tighten(path)
	return err
}

// Tighten removes all permissions of group and others from a file or directory of
// this user's. It returns the permissions from before if it changed them, else 0.
// It does not change symbolic links, or files of other users.
func Tighten(path string) (was fs.FileMode, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", path, err)
	}
	if uid(info) != os.Geteuid() || info.Mode()&0o077 == 0 || info.Mode()&fs.ModeSymlink != 0 {
		return 0, nil
	}
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	if err := os.Chmod(path, info.Mode()&bits&^0o077); err != nil {
		return 0, fmt.Errorf("remove other users' permissions from %s: %w", path, err)
	}
	return info.Mode().Perm(), nil
}

// OpenExecutable opens a file that is safe to run. It must be a regular executable
// file, belong to this user or root, be writable only by its owner, and be neither
// set-uid nor set-gid. The components above it must be as for Trusted. The checks
// are those of the file that was opened, whatever has its name by now. The caller
// closes it.
func OpenExecutable(path string) (*os.File, error) {
	if err := check(path, program); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, unix.O_RDONLY|unix.O_NONBLOCK, 0) // an open of a pipe would block
	if err != nil {
		return nil, fmt.Errorf("open executable: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = judgeExecutable(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func judgeExecutable(path string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%s is not an executable file", path)
	case info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return fmt.Errorf("executable %s is set-uid or set-gid: run chmod ug-s on it, or use another", path)
	}
	unsafe := &UnsafeError{Path: path}
	unsafe.add(judge(path, info, program))
	return unsafe.orNil()
}

// check checks all components of path from the root down: the last by the rules
// of last, the others by those of above.
func check(path string, last place) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("check %q: it is not an absolute path", path)
	}
	unsafe := &UnsafeError{Path: path}
	err := walk(filepath.Clean(path), last == ours, func(at string, info fs.FileInfo, final bool) {
		if final {
			unsafe.add(judge(at, info, last))
		} else {
			unsafe.add(judge(at, info, above))
		}
	})
	if found := unsafe.orNil(); found != nil {
		return found
	}
	return err
}

// walk calls visit for each directory and link that a path leads through, from the
// root down, and with final set for the file at its end. If keepLast is set, it
// does not follow a link there. It stops with an error at a component that is
// missing or that it cannot read.
func walk(path string, keepLast bool, visit func(at string, info fs.FileInfo, final bool)) error {
	root, err := os.Lstat("/")
	if err != nil {
		return fmt.Errorf("look at directory: %w", err)
	}
	rest := split(path)
	visit("/", root, len(rest) == 0)
	at := "/"
	for links := 0; len(rest) > 0; {
		next := entry(at, rest[0])
		info, err := os.Lstat(next)
		if err != nil {
			return fmt.Errorf("look at directory: %w", err)
		}
		rest = rest[1:]
		if info.Mode()&fs.ModeSymlink == 0 || len(rest) == 0 && keepLast {
			visit(next, info, len(rest) == 0)
			at = next
			continue
		}
		visit(next, info, false)
		if links++; links > maxLinks {
			return fmt.Errorf("look at directory %s: %w", path, syscall.ELOOP)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return fmt.Errorf("look at directory: %w", err)
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(split(target), rest...)
	}
	return nil
}

// entry returns the path of what is called name in the directory at, which is
// clean.
func entry(at, name string) string {
	switch {
	case name == "." || name == "..":
		return filepath.Join(at, name)
	case at == "/":
		return at + name
	}
	return at + "/" + name
}

// split returns the components of a path.
func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// judge returns what is wrong with a component of a path, or nil.
func judge(path string, info fs.FileInfo, p place) *Problem {
	owner, mode := uid(info), info.Mode()
	isLink := mode&fs.ModeSymlink != 0
	switch {
	case p == ours && isLink:
		return &Problem{Path: path, What: "is a symbolic link, not a directory"}
	case p == ours && owner != os.Geteuid(), owner != os.Geteuid() && owner != 0:
		return &Problem{Path: path, What: fmt.Sprintf("belongs to user %d, and you are user %d", owner, os.Geteuid()), Foreign: true}
	case isLink: // the mode of a link has no meaning
		return nil
	case (p == above || p == ours) && !mode.IsDir():
		return &Problem{Path: path, What: "is not a directory"}
	case p == trusted && !mode.IsDir() && !mode.IsRegular():
		return &Problem{Path: path, What: "is " + plainfile.Kind(mode) + ", not a file"}
	}
	return judgeMode(path, info, p)
}

// judgeMode returns a problem if others may write what is no link.
func judgeMode(path string, info fs.FileInfo, p place) *Problem {
	mode := info.Mode()
	switch {
	case mode.Perm()&0o022 == 0:
		return nil
	case p != ours && mode.IsDir() && mode&fs.ModeSticky != 0:
		return nil
	case (p == above || p == trusted) && mode.Perm()&0o002 == 0 && uid(info) == os.Geteuid() && gid(info) == ownGroup():
		if !othersInACL(path) {
			return nil
		}
		return &Problem{Path: path, What: "is writable by others (by its access control list)", Loose: true}
	}
	return &Problem{Path: path, What: fmt.Sprintf("is writable by others (mode %04o)", mode.Perm()), Loose: true}
}

// gid returns the id of a file's group, or -2, which is never noGroup.
func gid(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Gid)
	}
	return noGroup - 1
}

// uid returns the id of a file's owner, or -1 if that cannot be determined.
func uid(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
