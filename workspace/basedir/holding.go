package basedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// Holding opens the directory that w must be in: base, or the one for
// workspaces in a scope. A w that is recorded elsewhere is an ErrEscapes.
func Holding(base string, w model.Workspace) (*os.Root, error) {
	if err := model.CheckID(w.ID); err != nil {
		return nil, err
	}
	scope, scoped := ScopeOf(w.Root)
	root, err := Recorded(base, w)
	if err == nil && w.Root != filepath.Join(root.Name(), w.ID) {
		_ = root.Close()
		return nil, fmt.Errorf("directory %s: not in %s: %w", plaintext.Quoted(w.Root), root.Name(), model.ErrEscapes)
	}
	if scoped && errors.Is(err, fs.ErrNotExist) {
		return insteadOf(scope, base, err)
	}
	return root, err
}

// insteadOf opens base where the directory for workspaces in scope is gone, as
// err says: base has no such workspace. Gone is proved where the scope is there,
// or was in that base, and not where a disk may be missing.
func insteadOf(scope, base string, err error) (*os.Root, error) {
	own, ownErr := Open(base)
	if ownErr != nil {
		return nil, errors.Join(err, ownErr)
	}
	there, lookErr := Exists(scope)
	if below, relErr := filepath.Rel(own.Name(), scope); lookErr != nil || !there && (relErr != nil || !filepath.IsLocal(below)) {
		return nil, errors.Join(err, lookErr, own.Close())
	}
	return own, nil
}

// Recorded opens the directory that w is recorded in: the one for workspaces in a
// scope, else base.
func Recorded(base string, w model.Workspace) (*os.Root, error) {
	if scope, scoped := ScopeOf(w.Root); scoped {
		return OpenIn(scope, false)
	}
	return Open(base)
}

// Find is the path of w's directory in base at the moment: its own, or the one
// that an interrupted delete moved it to, or "" where there is neither. Where
// something else is in its place, that is a model.ErrReplaced.
func Find(base *os.Root, w model.Workspace) (string, error) {
	for _, name := range []string{w.ID, DeletingName(w.ID)} {
		info, err := base.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", fmt.Errorf("look at directory: %w", err)
		case !info.IsDir():
			return "", replaced(filepath.Join(base.Name(), name), info)
		}
		return filepath.Join(base.Name(), name), nil
	}
	return "", nil
}

// replaced refuses what is at path, where a workspace's directory was, and says
// how to go on. It is not ours, so nobody's consent reaches it.
func replaced(path string, now fs.FileInfo) error {
	kind := "a file"
	switch now.Mode().Type() {
	case 0:
	case fs.ModeSymlink:
		kind = "a symbolic link"
	default:
		kind = "something else"
	}
	return fmt.Errorf("%s is %s now, no directory any more; move that away, and put the directory back or delete the workspace without it: %w",
		path, kind, model.ErrReplaced)
}
