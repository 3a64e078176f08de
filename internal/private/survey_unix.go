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
// are not of the kind that their names imply. It does not enter the directories
// in opaque, and follows no links. Missing files are no problem.
func Survey(root string, opaque ...string) (found []Problem) {
	visit := func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			var info fs.FileInfo
			if info, err = os.Lstat(path); err == nil {
				found = append(found, judgeState(path, info)...)
				if uid(info) != os.Geteuid() && info.IsDir() {
					return fs.SkipDir // what is in it is foreign too
				}
			}
		}
		if err != nil && !os.IsNotExist(err) {
			found = append(found, Problem{Path: path, What: "cannot be looked at: " + err.Error()})
		}
		for _, dir := range opaque {
			if path == dir && err == nil && entry.IsDir() {
				return fs.SkipDir
			}
		}
		return nil
	}
	_ = filepath.WalkDir(root, visit) // visit returns no error
	return found
}

// judgeState returns what is wrong with a file of middleman's state.
func judgeState(path string, info fs.FileInfo) (found []Problem) {
	mode := info.Mode()
	if owner := uid(info); owner != os.Geteuid() {
		found = append(found, Problem{Path: path, Foreign: true,
			What: fmt.Sprintf("belongs to user %d, and you are user %d; find out why, then remove it or give it back with chown", owner, os.Geteuid())})
	}
	if mode&fs.ModeSymlink != 0 && isLinkName(filepath.Base(path)) {
		return found // the mode of a link has no meaning
	}
	if wanted := wantedKind(filepath.Base(path), mode); wanted != "" {
		return append(found, Problem{Path: path, What: "is " + plainfile.Kind(mode) + " and should be " + wanted + "; find out who put it there, and remove it"})
	}
	others := fs.FileMode(0o077)
	if filepath.Base(path) == "tmux.sock" {
		others = 0o007 // tmux gives its group the mode that its user has
	}
	if mode.Perm()&others != 0 {
		found = append(found, Problem{Path: path, Loose: true,
			What: fmt.Sprintf("is open to others (mode %04o); run: chmod go-rwx %s", mode.Perm(), quote(path))})
	}
	return found
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
