//go:build unix

package private

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"middleman/internal/plainfile"
)

// Survey checks root and everything below it, and returns the problems: files with
// another owner, with any permission for others, symbolic links, and files that
// are not of the kind that their names imply. What is in the directories of parts is
// judged as those say, and they themselves by where they are. It follows no links.
// Missing files are no problem.
func Survey(root string, parts ...Part) (found []Problem) {
	written := "" // the directory that we are in whose content others write too
	visit := func(path string, entry fs.DirEntry, err error) error {
		skip := false
		if err == nil {
			var info fs.FileInfo
			if info, err = os.Lstat(path); err == nil {
				if below(written, path) {
					found = append(found, judgeWritten(path, info)...)
				} else {
					found = append(found, judgeState(path, info)...)
				}
				skip = info.IsDir() && uid(info) != os.Geteuid() // what is in it is foreign too
			}
		}
		if err != nil && !os.IsNotExist(err) {
			found = append(found, Problem{Path: path, What: "cannot be looked at: " + err.Error()})
		}
		if part := partOf(parts, path); part != nil && err == nil && entry.IsDir() {
			if skip = skip || part.Opaque; !skip && !below(written, path) {
				written = path
			}
		}
		if skip {
			return fs.SkipDir
		}
		return nil
	}
	_ = filepath.WalkDir(root, visit) // visit returns no error
	return found
}

// below reports whether path is in dir, which is "" for none.
func below(dir, path string) bool {
	return dir != "" && len(path) > len(dir) && path[len(dir)] == filepath.Separator && strings.HasPrefix(path, dir)
}

// judgeState returns what is wrong with a file of middleman's state.
func judgeState(path string, info fs.FileInfo) (found []Problem) {
	mode := info.Mode()
	if p := judgeOwner(path, info); p != nil {
		found = append(found, *p)
	}
	if mode&fs.ModeSymlink != 0 && isLinkName(filepath.Base(path)) {
		return found // the mode of a link has no meaning
	}
	if wanted := wantedKind(filepath.Base(path), mode); wanted != "" {
		return append(found, Problem{Path: path, What: "is " + plainfile.Kind(mode) + " and should be " + wanted + "; find out who put it there, and remove it"})
	}
	if mode.Perm()&0o077 != 0 {
		found = append(found, Problem{Path: path, Loose: true,
			What: fmt.Sprintf("is open to others (mode %04o); run: chmod go-rwx %s", mode.Perm(), quote(path))})
	}
	return found
}

// judgeWritten returns what is wrong with a file that a program of this user's may have
// written, with any umask: no other user may have written it, or may write it.
func judgeWritten(path string, info fs.FileInfo) (found []Problem) {
	if p := judgeOwner(path, info); p != nil {
		return []Problem{*p}
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil // the mode of a link has no meaning
	}
	if p := judgeMode(path, info, trusted); p != nil {
		p.What += "; run: chmod go-w " + quote(path)
		found = append(found, *p)
	}
	return found
}

// LooserThan returns a problem if other users may read or run a file, and may not do that
// with another one, own.
func LooserThan(path string, info, own fs.FileInfo) *Problem {
	if info.Mode().Perm()&^own.Mode().Perm()&0o055 == 0 {
		return nil
	}
	return &Problem{Path: path, Loose: true,
		What: fmt.Sprintf("is open to others (mode %04o), and what it is a copy of is not; run: chmod go-rwx %s", info.Mode().Perm(), quote(path))}
}

// judgeOwner returns a problem if a file is another user's.
func judgeOwner(path string, info fs.FileInfo) *Problem {
	if owner := uid(info); owner != os.Geteuid() {
		return &Problem{Path: path, Foreign: true,
			What: fmt.Sprintf("belongs to user %d, and you are user %d; find out why, then remove it or give it back with chown", owner, os.Geteuid())}
	}
	return nil
}

// isLinkName reports whether a file of that name is a link that ReplaceLink made:
// to a session's SSH agent.
func isLinkName(name string) bool {
	return name == "ssh-agent" || filepath.Ext(name) == ".ssh-agent"
}

// wantedKind returns the kind that a file with that name should have, or "" if
// mode has that kind.
func wantedKind(name string, mode fs.FileMode) string {
	switch ext := filepath.Ext(name); {
	case ext == ".sock":
		if mode&fs.ModeSocket == 0 {
			return "a socket"
		}
	case ext == ".fifo":
		if mode&fs.ModeNamedPipe == 0 {
			return "a FIFO"
		}
	case strings.Contains(" .json .lock .log .ans .conf .toml .db .db-wal .db-shm ", " "+ext+" "):
		if !mode.IsRegular() {
			return "a file"
		}
	case !mode.IsRegular() && !mode.IsDir():
		return "a file or a directory"
	}
	return ""
}

// CanMake returns an error if path is missing and this user could not make it.
func CanMake(path string) error {
	for at := path; ; at = filepath.Dir(at) {
		_, err := os.Lstat(at)
		switch {
		case os.IsNotExist(err) && at != filepath.Dir(at):
		case err != nil:
			return fmt.Errorf("make %s: %w", path, err)
		case at == path:
			return nil
		default:
			if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
				return fmt.Errorf("%s cannot be made: write in %s: %w", path, at, err)
			}
			return nil
		}
	}
}
