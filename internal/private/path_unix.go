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
)

// maxLinks is how many symbolic links a path may go through.
const maxLinks = 40

// place is what a component of a path is to us.
type place int

const (
	above   place = iota // of a directory of ours
	ours                 // a directory of ours alone
	trusted              // a file or directory that we read and no other user wrote
	program              // a file that we run and that only we or root wrote
)

// Dir returns an error unless path is a directory of this user's, no symbolic
// link, that nobody else can write, and each component above it is this user's
// or root's and writable by others only where it is sticky. Above it, a
// directory of this user's may also be writable by the group that they alone
// are in. Links above it are followed and checked like the rest. What is wrong
// is an *UnsafeError, which names all of it; a directory that is missing is
// fs.ErrNotExist, if all that there is of its path is in order.
func Dir(path string) error { return check(path, ours) }

// Below is Dir for root and for each component from there down to path: none
// of them may be a symbolic link.
func Below(root, path string) error {
	if err := Dir(root); err != nil {
		return err
	}
	rest, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rest) {
		return fmt.Errorf("check directory %s: it is not below %s", path, root)
	}
	unsafe := &UnsafeError{Path: path}
	for _, name := range strings.Split(rest, string(filepath.Separator)) {
		root = filepath.Join(root, name)
		info, err := os.Lstat(root)
		if err != nil {
			return fmt.Errorf("check directory: %w", err)
		}
		unsafe.add(judge(root, info, ours))
	}
	return unsafe.orNil()
}

// Trusted returns an error unless path is a file or a directory, this user's
// or root's and writable by nobody else but a group that they alone are in, and
// so is all that it is reached through. Links are followed, the last component's
// too. What is neither, such as a FIFO, holds up whoever opens it.
func Trusted(path string) error { return check(path, trusted) }

// MakeDir makes path (0700) where it is missing, after all above it is found
// in order, and takes from others what a directory of ours lets them read. It
// returns an error where Dir would.
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

// Tighten takes from others what a file or directory of this user's lets them
// do, and returns the mode that it had where that was anything. A link and
// what is not ours are left alone.
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
		return 0, fmt.Errorf("take %s from others: %w", path, err)
	}
	return info.Mode().Perm(), nil
}

// Executable returns an error unless the file at path is one that this user
// may run without fear: theirs or root's, writable by nobody else and by no
// group, reached through what is Trusted, a regular file, and neither set-uid
// nor set-gid.
func Executable(path string) error {
	if err := check(path, program); err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("look at executable: %w", err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%s is not an executable file", path)
	case info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return fmt.Errorf("executable %s is set-uid or set-gid: run chmod ug-s on it, or use another", path)
	}
	return nil
}

// check looks at path from the root down; its last component is a last.
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

// walk calls visit for each directory and link that a path leads through, from
// the root down, and for what is at its end; a link there only where it is
// not followed. It stops at what is missing or cannot be looked at.
func walk(path string, keepLast bool, visit func(at string, info fs.FileInfo, final bool)) error {
	root, err := os.Lstat("/")
	if err != nil {
		return fmt.Errorf("look at directory: %w", err)
	}
	rest := split(path)
	visit("/", root, len(rest) == 0)
	at := "/"
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
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

// split returns the components of a path.
func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// judge says what is wrong with a component of a path, nil where nothing is.
func judge(path string, info fs.FileInfo, p place) *Problem {
	owner, mode := uid(info), info.Mode()
	isLink := mode&fs.ModeSymlink != 0
	switch {
	case p == ours && isLink:
		return &Problem{Path: path, What: "is a symbolic link, not a directory"}
	case p == ours && owner != os.Geteuid(), owner != os.Geteuid() && owner != 0:
		return &Problem{Path: path, What: fmt.Sprintf("belongs to user %d, and you are user %d", owner, os.Geteuid()), Foreign: true}
	case isLink: // its mode says nothing
		return nil
	case (p == above || p == ours) && !mode.IsDir():
		return &Problem{Path: path, What: "is not a directory"}
	case p == trusted && !mode.IsDir() && !mode.IsRegular():
		return &Problem{Path: path, What: "is " + kind(mode) + " and no file"}
	case mode.Perm()&0o022 == 0:
		return nil
	case p != ours && mode.IsDir() && mode&fs.ModeSticky != 0:
		return nil
	case (p == above || p == trusted) && mode.Perm()&0o002 == 0 && owner == os.Geteuid() && gid(info) == ownGroup():
		return nil
	}
	return &Problem{Path: path, What: fmt.Sprintf("is writable by others (mode %04o)", mode.Perm()), Loose: true}
}

// gid is the group that a file belongs to; never noGroup.
func gid(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Gid)
	}
	return noGroup - 1
}

// uid is who a file belongs to, -1 where that cannot be told.
func uid(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
