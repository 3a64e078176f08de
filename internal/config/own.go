package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/private"
)

// own returns middleman's directories by their canonical paths, with what each has.
func (d Dirs) own() (all []owned) {
	for _, dir := range []owned{
		{d.Data, "middleman's data"}, {d.Config, "middleman's settings"},
		{d.Runtime, "middleman's sockets"}, {d.Sockets(), "middleman's sockets"},
	} {
		all = append(all, owned{canonical(dir.path), dir.what})
	}
	return all
}

type owned struct{ path, what string }

// Parts returns where files in our directories have the modes that others give them. All
// else there is this user's alone. In agents' directories and git's, which we read, no
// other user may own or write anything; a group of workspaces is ours.
func (d Dirs) Parts() []private.Part {
	return []private.Part{
		{Root: d.Workspaces(), Pattern: "."},
		{Root: d.Workspaces(), Pattern: "*", Opaque: true}, // and git and the user
		{Root: d.Private(""), Pattern: "*/copies/*"},
		{Root: d.Private(""), Pattern: "*/cache", Opaque: true},
		{Root: d.Quarantine(""), Pattern: "*/git*"}, // also what is being made, or set aside
		{Root: d.Quarantine(""), Pattern: "*/git*/objects", Opaque: true},
		{Root: d.Quarantine(""), Pattern: "*/git*/lfs", Opaque: true},
		{Root: d.Quarantine(""), Pattern: "*/reading*", Opaque: true}, // of git, for one import
		{Root: d.Sandbox(""), Pattern: "*/tmp", Opaque: true},
		{Root: d.Scratch(), Pattern: ".", Opaque: true},
	}
}

// LiesIn says that a directory with this canonical path lies in one of middleman's own
// directories, as in "which lies in middleman's data". It returns "" if it does not.
func (d Dirs) LiesIn(path string) string {
	for _, dir := range d.own() {
		if Within(path, dir.path) {
			return "which lies in " + dir.what
		}
	}
	return ""
}

// Touches is LiesIn also for a directory that holds one of them. A program that may
// change such a directory can take over other sessions.
func (d Dirs) Touches(path string) string {
	for _, dir := range d.own() {
		if Within(dir.path, path) {
			return "which holds " + dir.what
		}
	}
	return d.LiesIn(path)
}

// IsWorkspace reports whether path is where middleman makes the directory of the
// workspace with this id, in its data: GROUP/NAME below Workspaces, or the id. That is
// no proof that the directory is that workspace's.
func (d Dirs) IsWorkspace(path, id string) bool {
	below, err := filepath.Rel(canonical(d.Workspaces()), path)
	return err == nil && filepath.IsLocal(below) && (below == id || strings.ContainsRune(below, filepath.Separator))
}

// Within reports whether path is the directory dir or below it. Both are canonical. Two
// names of one directory are the same, as where upper and lower case do not differ.
func Within(path, dir string) bool {
	if below, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(below) {
		return true
	}
	target, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for at := path; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, target) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// canonical resolves the links of path as far as it exists: what is made there later
// has the rest of its name.
func canonical(path string) string {
	real, err := filepath.EvalSymlinks(path)
	switch above := filepath.Dir(path); {
	case err == nil:
		return real
	case errors.Is(err, fs.ErrNotExist) && above != path:
		return filepath.Join(canonical(above), filepath.Base(path))
	}
	return path
}
