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

// Holding opens the directory that must hold w: base, the group in it that w.Root
// names, or the directory for workspaces in w's scope. It returns an ErrEscapes if
// w.Root lies elsewhere, and an ErrNoGroup if the group is gone. The caller closes
// the result.
func Holding(base string, w model.Workspace) (*Held, error) { return holding(base, w, false) }

// HoldingMade is Holding, but makes a missing group. Closing the result removes an
// empty one.
func HoldingMade(base string, w model.Workspace) (*Held, error) { return holding(base, w, true) }

func holding(base string, w model.Workspace, make bool) (*Held, error) {
	if err := model.CheckID(w.ID); err != nil {
		return nil, err
	}
	scope, scoped := ScopeOf(w.Root)
	scoped = scoped && w.BaseDir == ""
	root, err := Recorded(base, w)
	if scoped && errors.Is(err, fs.ErrNotExist) {
		root, err = insteadOf(scope, base, err)
		if err != nil {
			return nil, err
		}
		return &Held{Root: root}, nil
	}
	if err != nil {
		return nil, err
	}
	if w.Root == filepath.Join(root.Name(), w.ID) {
		return &Held{Root: root}, nil
	}
	if scoped || !IsPlace(root.Name(), w.Root) {
		err := fmt.Errorf("directory %s: not in %s: %w", plaintext.Quoted(w.Root), root.Name(), model.ErrEscapes)
		return nil, errors.Join(err, root.Close())
	}
	name := filepath.Base(filepath.Dir(w.Root))
	group, err := OpenGroup(root, name, make)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	if make {
		return &Held{Root: group, base: root, group: name, owned: true}, nil
	}
	return &Held{Root: group}, root.Close()
}

// OpenAt opens the directory with that path: base, or a group in it. Closing the
// result removes an empty group. The caller closes it.
func OpenAt(base, path string) (*Held, error) {
	root, err := Open(base)
	if err != nil {
		return nil, err
	}
	if path == root.Name() {
		return &Held{Root: root}, nil
	}
	name := filepath.Base(path)
	if path != filepath.Join(root.Name(), name) || !model.IsPlaceName(name) {
		err := fmt.Errorf("directory %s: not in %s: %w", plaintext.Quoted(path), root.Name(), model.ErrEscapes)
		return nil, errors.Join(err, root.Close())
	}
	group, err := OpenGroup(root, name, false)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Held{Root: group, base: root, group: name, owned: true}, nil
}

// Locate returns what Find does in the directory that holds w. If there is no such
// group it returns "".
func Locate(base string, w model.Workspace) (string, error) {
	held, err := Holding(base, w)
	if errors.Is(err, ErrNoGroup) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer held.Close()
	return Find(held.Root, w)
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
// in its scope, else its base. The caller closes it.
func Recorded(base string, w model.Workspace) (*os.Root, error) {
	if scope, scoped := ScopeOf(w.Root); scoped && w.BaseDir == "" {
		return OpenIn(scope, false)
	}
	return Open(BaseOf(base, w))
}

// BaseOf returns the base directory that w is recorded in: base, or the one that
// the user named when it was made.
func BaseOf(base string, w model.Workspace) string {
	if w.BaseDir != "" {
		return w.BaseDir
	}
	return base
}

// Find returns the current path of w's directory in base, which holds it: its own,
// or the one to which an interrupted delete moved it. It returns "" if neither
// exists, or if another workspace has that place by now, and a model.ErrReplaced if
// something else has that name.
func Find(base *os.Root, w model.Workspace) (string, error) {
	for _, name := range []string{Name(w), DeletingName(w.ID)} {
		info, err := base.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", fmt.Errorf("look at directory: %w", err)
		case !info.IsDir():
			return "", replaced(filepath.Join(base.Name(), name), info)
		}
		if name == Name(w) {
			if others, err := othersPlace(w); err != nil {
				return "", fmt.Errorf("look at git's entry for it: %w", err)
			} else if others {
				continue
			}
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
