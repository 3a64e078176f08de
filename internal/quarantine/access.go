package quarantine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"middleman/internal/plaintext"
	"middleman/internal/sandbox"
)

// Access is what the policy of a session needs so that git works in it on the private
// directory, and on nothing of the user's.
type Access struct {
	// Binds, in this order, and ReadOnly are for bubblewrap.
	Binds    []sandbox.Bind
	ReadOnly []string
	// Writable and Env are for Landlock, which cannot mount: Env leads git to the
	// private directory, in whatever directory it runs.
	Writable []string
	Env      []string
	// Notes say, one line each, what git in the sandbox does otherwise than outside.
	Notes []string
}

// access returns what a session of r needs.
func (q *Quarantine) access(s site, r record) (Access, error) {
	var a Access
	alternates, err := s.alternates()
	if err != nil {
		return a, err
	}
	if !q.mounts() {
		private := filepath.Join(q.path(GitDirectory), r.Entry)
		a.Writable = []string{q.path(GitDirectory)}
		a.Env = []string{"GIT_DIR=" + private, "GIT_COMMON_DIR=" + q.path(GitDirectory), "GIT_WORK_TREE=" + s.WorkTree}
		a.Notes = []string{"GIT_DIR leads git to the private directory: it finds no other repository while that is set, and .git of the workspace can be replaced"}
		return a, nil
	}
	if a.Binds, err = q.binds(s, alternates, true); err != nil {
		return a, err
	}
	if dot := filepath.Join(s.WorkTree, ".git"); dot != s.CommonDir {
		a.ReadOnly = []string{dot}
	}
	modules, err := q.shownModules(s)
	if err != nil {
		return a, err
	}
	if modules != nil {
		a.Binds = append(a.Binds, *modules)
	}
	lfs, err := q.shownLFS(s)
	if err != nil {
		return a, err
	}
	if lfs != nil {
		a.Binds = append(a.Binds, *lfs)
	}
	if len(r.Submodules) > 0 {
		a.Notes = append(a.Notes, "submodules are read-only")
	}
	for _, name := range sortedKeys(r.Submodules) {
		dir := filepath.Join(s.WorkTree, filepath.FromSlash(name))
		if resolved, err := filepath.EvalSymlinks(dir); err == nil && resolved == dir {
			a.ReadOnly = append(a.ReadOnly, dir)
		}
	}
	return a, nil
}

// mounts reports whether the sandbox can show a directory at another path.
func (q *Quarantine) mounts() bool { return q.method == sandbox.Bubblewrap }

// binds returns the binds that put the private directory in the place of the repository.
func (q *Quarantine) binds(s site, alternates []string, write bool) ([]sandbox.Bind, error) {
	objects, err := filepath.EvalSymlinks(filepath.Join(s.CommonDir, "objects"))
	if err != nil {
		return nil, err
	}
	binds := []sandbox.Bind{
		{From: objects, To: q.path(baseName)},
		{From: q.path(GitDirectory), To: s.CommonDir, Write: write},
	}
	if s.hasAlternates() {
		// git would resolve relative paths in it from the wrong place; ours has them all.
		binds = append(binds, sandbox.Bind{From: q.path(blankName), To: filepath.Join(q.path(baseName), "info", "alternates")})
	}
	for _, dir := range alternates {
		binds = append(binds, sandbox.Bind{From: dir, To: dir})
	}
	return binds, nil
}

// shownModules returns the bind that shows the repositories of the checkout's submodules,
// or nil if it has none. What it is mounted over is made, unless something else is there.
func (q *Quarantine) shownModules(s site) (*sandbox.Bind, error) {
	modules := filepath.Join(s.GitDir, "modules")
	info, err := os.Lstat(modules)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	root, err := q.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	at := path.Join(filepath.ToSlash(s.entry), "modules")
	if err := root.Mkdir(at, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	for dir := at; dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil {
			return nil, err
		} else if !info.IsDir() {
			return nil, fmt.Errorf("%s in the private git directory is no directory: %w", plaintext.Quoted(dir), ErrUnreadable)
		}
	}
	return &sandbox.Bind{From: modules, To: filepath.Join(s.GitDir, "modules")}, nil
}
