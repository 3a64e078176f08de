package ownpath

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const variable = "PATH"

var ofGit = []string{"GIT_EXEC_PATH", "GIT_SSH"} // variables that name programs of git

// Open is a directory that sandboxed programs can write to, without links in its path.
type Open struct {
	Dir   string
	Who   string // who can, such as "session w/agent"
	Which string // the directory's identity (dirid.Of), wherever it is now; "" if unknown
}

// Left is an entry of PATH that this process does without.
type Left struct{ Dir, Why string }

// String is one line.
func (l Left) String() string { return fmt.Sprintf("%q: %s", l.Dir, l.Why) }

var (
	mu sync.Mutex
	// before is PATH as this process was given it, set what Clean made of it, and left
	// what that lacks. mu guards them.
	before, set string
	left        []Left
)

// Clean takes entries out of the PATH of this process, and returns those that it did not
// leave out before: entries that are not absolute, those in an open directory or by way of
// one, and those with a link to a program, of the kind that git and the server look for,
// that leads through one. Programs that are found by absolute paths in the variables of
// git are treated like that too. It begins anew with what PATH was at first: what is not
// open any more comes back.
func Clean(open []Open) (more []Left, err error) {
	mu.Lock()
	defer mu.Unlock()
	if now := os.Getenv(variable); now != set || before == "" {
		before, left = now, nil
	}
	was := left
	var kept []string
	left = nil
	for _, dir := range filepath.SplitList(before) {
		if why := unsafe(dir, open); why != "" {
			left = append(left, Left{dir, why})
		} else {
			kept = append(kept, dir)
		}
	}
	for _, l := range left {
		if !slices.Contains(was, l) && !slices.Contains(more, l) {
			more = append(more, l)
		}
	}
	if set = strings.Join(kept, string(filepath.ListSeparator)); set != os.Getenv(variable) {
		err = os.Setenv(variable, set)
	}
	return more, errors.Join(err, cleanGit(open))
}

// cleanGit unsets variables that name programs of git in open directories.
func cleanGit(open []Open) (err error) {
	for _, name := range ofGit {
		if value := os.Getenv(name); filepath.IsAbs(value) && by(value, open) != "" {
			err = errors.Join(err, os.Unsetenv(name))
		}
	}
	return err
}

// LeftOut returns what the last Clean left out.
func LeftOut() []Left {
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(left)
}

// Environ is the environment of this process with PATH as it was given: for a program that
// takes the place of this one and calls Clean itself.
func Environ() []string {
	mu.Lock()
	defer mu.Unlock()
	all := os.Environ()
	if before == "" || os.Getenv(variable) != set {
		return all
	}
	all = slices.DeleteFunc(all, func(entry string) bool { return strings.HasPrefix(entry, variable+"=") })
	return append(all, variable+"="+before)
}

// Identities returns those of all directories that PATH, as this process was given it,
// leads through, with all that Clean looks at.
func Identities() map[string]bool {
	mu.Lock()
	defer mu.Unlock()
	paths := filepath.SplitList(os.Getenv(variable))
	if before != "" && os.Getenv(variable) == set {
		paths = filepath.SplitList(before)
	}
	for _, dir := range slices.Clone(paths) {
		for _, name := range links(dir) {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	for _, name := range ofGit {
		paths = append(paths, os.Getenv(name))
	}
	all := map[string]bool{}
	for _, path := range paths {
		if filepath.IsAbs(path) {
			maps.Copy(all, To(path).which)
		}
	}
	return all
}

// Explain adds to an error that a program was not found what Clean left out. It returns
// any other unchanged.
func Explain(err error) error {
	gone := LeftOut()
	if len(gone) == 0 || !errors.Is(err, exec.ErrNotFound) {
		return err
	}
	var parts []string
	for _, l := range gone {
		parts = append(parts, l.String())
	}
	return fmt.Errorf("%w; the server does without these directories of its PATH: %s", err, strings.Join(parts, "; "))
}

// unsafe returns why an entry of PATH is left out, "" if it is not.
func unsafe(dir string, open []Open) string {
	if !filepath.IsAbs(dir) {
		return "it is not an absolute path"
	}
	if who := by(dir, open); who != "" {
		return fmt.Sprintf("the sandbox of %s can write there", who)
	}
	if len(open) == 0 {
		return ""
	}
	for _, name := range links(dir) {
		if who := by(filepath.Join(dir, name), open); who != "" {
			return fmt.Sprintf("%s there is a link to where the sandbox of %s can write", name, who)
		}
	}
	return ""
}

// links returns the links in dir by which git or the server may find a program.
func links(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // nothing is found in one that cannot be read
	for _, entry := range entries {
		if entry.Type()&os.ModeSymlink != 0 && looked(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names
}

// looked reports whether git or the server may look for a program of that name.
func looked(name string) bool {
	for _, prefix := range []string{"git", "ssh", "gpg"} { // helpers for credentials, remotes, filters, keys
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"bwrap", "tmux", "sh", "systemd-run", "systemctl", "getent"}, name)
}

// by returns who can change what path leads to, "" if nobody can.
func by(path string, open []Open) string {
	if len(open) == 0 {
		return ""
	}
	way := To(path)
	if i := slices.IndexFunc(open, way.Through); i >= 0 {
		return open[i].Who
	}
	return ""
}
