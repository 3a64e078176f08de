package basedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/internal/private"
	"middleman/workspace/model"
)

// workDir is the directory for workspaces, relative to a scope, the directory
// tree that a session may work in.
var workDir = filepath.Join(".middleman", "work")

// ScopeOf returns the scope that holds a workspace's directory. ok is false for
// a workspace in the manager's own base.
func ScopeOf(root string) (scope string, ok bool) {
	return strings.CutSuffix(filepath.Dir(root), string(filepath.Separator)+workDir)
}

// InScope returns the directory of the workspace with that id in scope.
func InScope(scope, id string) string { return filepath.Join(scope, workDir, id) }

// ScopeFor returns the canonical path of the scope of w's sessions, which is
// w's directory. If we made that directory, a link in its path means that it
// was replaced, which is an error. A path to the user's own directory may have
// links.
func ScopeFor(w model.Workspace) (string, error) {
	scope, err := filepath.EvalSymlinks(w.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", plaintext.Quoted(w.Root), model.ErrMissing)
	}
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", plaintext.Quoted(w.Root), err)
	}
	if w.Mode != model.ModeInPlace && scope != w.Root {
		return "", fmt.Errorf("%s leads to %s now: %w", plaintext.Quoted(w.Root), plaintext.Quoted(scope), ErrLeavesScope)
	}
	return scope, nil
}

// Within returns the canonical form of path, which must be a directory in
// scope.
func Within(scope, path string) (string, error) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("directory %s: not an absolute path: %w", plaintext.Quoted(path), model.ErrBadRequest)
	}
	if err := plainfile.CheckPath(path); err != nil {
		return "", fmt.Errorf("directory %s: %w: %w", plaintext.Quoted(path), err, model.ErrBadRequest)
	}
	ancestor := filepath.Clean(path)
	for {
		_, err := os.Lstat(ancestor)
		if err == nil {
			break
		}
		parent := filepath.Dir(ancestor)
		if !errors.Is(err, fs.ErrNotExist) || parent == ancestor {
			return "", fmt.Errorf("look at directory %s: %w", plaintext.Quoted(path), err)
		}
		ancestor = parent
	}
	canonical, err := filepath.EvalSymlinks(ancestor)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("directory %s: %s is a symbolic link that leads nowhere: %w", plaintext.Quoted(path), plaintext.Quoted(ancestor), ErrLeavesScope)
	}
	if err != nil {
		return "", fmt.Errorf("resolve directory %s: %w", plaintext.Quoted(path), err)
	}
	if below, err := filepath.Rel(scope, canonical); err != nil || !filepath.IsLocal(below) {
		return "", fmt.Errorf("directory %s: it is not below %s: %w", plaintext.Quoted(path), plaintext.Quoted(scope), ErrLeavesScope)
	}
	for at := canonical; at != scope && at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeIrregular != 0 { // EvalSymlinks follows no junction
			return "", fmt.Errorf("directory %s: %s is %s: %w", plaintext.Quoted(path), plaintext.Quoted(at), plainfile.Kind(info.Mode()), ErrLeavesScope)
		}
	}
	if ancestor != filepath.Clean(path) {
		return "", fmt.Errorf("directory %s does not exist: %w", plaintext.Quoted(path), model.ErrBadRequest)
	}
	if info, err := os.Stat(canonical); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s: not a directory: %w", plaintext.Quoted(path), model.ErrBadRequest)
	}
	return canonical, nil
}

// OpenIn opens the directory for workspaces in scope, which must be canonical.
// If make is true it makes a missing one. No part of it may be a link, because
// a program that works in the scope may have put one there. The Name of the
// result is canonical. The caller closes it.
func OpenIn(scope string, make bool) (*os.Root, error) {
	top, err := openScope(scope)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	for _, part := range []string{filepath.Dir(workDir), workDir} {
		err := checkPart(top, part)
		if make && errors.Is(err, fs.ErrNotExist) {
			if err := top.Mkdir(part, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, fmt.Errorf("make directory for workspaces: %w", err)
			}
			err = checkPart(top, part)
		}
		if err != nil {
			return nil, err
		}
	}
	base, err := os.OpenRoot(filepath.Join(scope, workDir))
	if err != nil {
		return nil, fmt.Errorf("open directory for workspaces: %w", err)
	}
	checked, err := top.Lstat(workDir)
	if err == nil {
		var opened fs.FileInfo
		if opened, err = base.Stat("."); err == nil && !os.SameFile(checked, opened) {
			err = fmt.Errorf("%s was replaced while it was opened: %w", plaintext.Quoted(base.Name()), ErrUnsafeBase)
		}
	}
	if err != nil {
		_ = base.Close()
		return nil, err
	}
	return base, nil
}

// openScope opens a scope. It refuses a path with links, and one in which any
// user could replace a directory.
func openScope(scope string) (*os.Root, error) {
	canonical, err := filepath.EvalSymlinks(scope)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", plaintext.Quoted(scope), err)
	}
	if canonical != scope {
		return nil, fmt.Errorf("%s leads to %s now: %w", plaintext.Quoted(scope), plaintext.Quoted(canonical), ErrLeavesScope)
	}
	for dir := scope; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if err := checkShared(dir); err != nil {
			return nil, err
		}
	}
	top, err := os.OpenRoot(scope)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", plaintext.Quoted(scope), err)
	}
	return top, nil
}

// checkPart refuses a part of workDir in top that is not a directory of ours.
func checkPart(top *os.Root, part string) error {
	info, err := top.Lstat(part)
	if err != nil {
		return fmt.Errorf("look at directory for workspaces: %w", err)
	}
	path := filepath.Join(top.Name(), part)
	if info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link: %w", plaintext.Quoted(path), ErrLeavesScope)
	}
	return unsafe(private.LastDir(path))
}

// CheckIn returns an error if the directory for workspaces in scope cannot be
// used. A missing one is fine. CheckIn makes nothing.
func CheckIn(scope string) error {
	base, err := OpenIn(scope, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return base.Close()
}

// IsEmptyWorkDir reports whether path in top is a directory for workspaces that
// holds none.
func IsEmptyWorkDir(top, path string) bool {
	if !strings.HasSuffix("/"+path, "/"+filepath.ToSlash(workDir)+"/") {
		return false
	}
	entries, err := os.ReadDir(filepath.Join(top, filepath.FromSlash(path)))
	return err == nil && len(entries) == 0
}
