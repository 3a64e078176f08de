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

// Holding opens the directory that must hold w: base, or the directory for
// workspaces in w's scope. It returns an ErrEscapes if w.Root lies elsewhere.
// The caller closes the result.
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

// insteadOf opens base if the directory for workspaces in scope does not exist,
// which is err. It does so only if that is proved: the scope itself exists, or
// it lay in base. Otherwise a disk may be missing, and it returns err.
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

// Recorded opens the directory in which w is recorded: the one for workspaces
// in its scope, else base. The caller closes it.
func Recorded(base string, w model.Workspace) (*os.Root, error) {
	if scope, scoped := ScopeOf(w.Root); scoped {
		return OpenIn(scope, false)
	}
	return Open(base)
}

// Find returns the current path of w's directory in base: its own, or the one
// to which an interrupted delete moved it. It returns "" if neither exists, and
// a model.ErrReplaced if something else has that name.
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

// replaced returns the error for something else at path, where a workspace's
// directory was, and says how to go on. No consent lets a delete remove it,
// because it is not ours.
func replaced(path string, now fs.FileInfo) error {
	kind := "a file"
	switch now.Mode().Type() {
	case 0:
	case fs.ModeSymlink:
		kind = "a symbolic link"
	default:
		kind = "something else"
	}
	return fmt.Errorf("%s is %s now, not a directory; move that away, then put the directory back, or delete the workspace without it: %w",
		path, kind, model.ErrReplaced)
}
