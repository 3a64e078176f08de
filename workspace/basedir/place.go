package basedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/git"
	"middleman/internal/private"
	"middleman/workspace/model"
)

// The place of a workspace in the manager's own base is GROUP/NAME for a worktree,
// where GROUP is the directory of its repository, and its id for a directory of
// ours. Worktrees of earlier versions are at their id too, and so are those in a
// scope. What a delete or a restore has in hand lies beside that place, and git's
// entry for a worktree has the id as its name.

// Held is the open directory that holds the directory of a workspace: a base, or a
// group in one.
type Held struct {
	*os.Root
	base  *os.Root // if this is a group to remove once it is empty
	group string
	owned bool // close base too
}

// IsGroup reports whether it is a group that Close removes once it is empty.
func (h *Held) IsGroup() bool { return h.base != nil }

// Close closes the directory. It removes a group that holds nothing any more, if
// it was opened with HoldingMade or by a Claim.
func (h *Held) Close() error {
	err := h.Root.Close()
	if h.base == nil {
		return err
	}
	if info, lookErr := h.base.Lstat(h.group); lookErr == nil && info.IsDir() {
		_ = h.base.Remove(h.group) // it is not empty, or gone
	}
	if h.owned {
		err = errors.Join(err, h.base.Close())
	}
	return err
}

// Name returns the name of w's directory in the directory that holds it.
func Name(w model.Workspace) string {
	if w.Root == "" {
		return w.ID
	}
	return filepath.Base(w.Root)
}

// IsPlace reports whether root is GROUP/NAME in the base with that canonical path,
// by its text alone.
func IsPlace(base, root string) bool {
	group := filepath.Dir(root)
	return filepath.Dir(group) == base && root == filepath.Join(group, filepath.Base(root)) &&
		model.IsPlaceName(filepath.Base(group)) && model.IsPlaceName(filepath.Base(root))
}

// InBase returns the path that w's directory has in the base with that canonical
// path, which need not be the base of w.Root: the base may have been moved.
func InBase(base string, w model.Workspace) string {
	if IsPlace(base, w.Root) {
		return w.Root
	}
	group := filepath.Dir(w.Root)
	if name := Name(w); name != w.ID && IsPlace(filepath.Dir(group), w.Root) {
		return filepath.Join(base, filepath.Base(group), name)
	}
	return filepath.Join(base, w.ID)
}

// OpenGroup opens a group in base, and with make makes a missing one. It must be a
// private directory, and no link. If it is missing the error wraps ErrNoGroup. The
// Name of the result is its path. The caller closes it.
func OpenGroup(base *os.Root, name string, make bool) (*os.Root, error) {
	path := filepath.Join(base.Name(), name)
	if make {
		if err := base.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make directory %s: %w", path, err)
		}
	}
	checked, err := base.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, ErrNoGroup)
	}
	if err == nil {
		err = unsafe(private.LastDir(path))
	}
	if err != nil {
		return nil, fmt.Errorf("look at directory: %w", err)
	}
	group, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open directory: %w", err)
	}
	opened, err := group.Stat(".")
	if err == nil && !os.SameFile(checked, opened) {
		err = fmt.Errorf("%s was replaced while it was opened: %w", path, ErrUnsafeBase)
	}
	if err != nil {
		return nil, errors.Join(err, group.Close())
	}
	return group, nil
}

// Groups returns the names in base that can be groups: directories that no
// workspace is.
func Groups(base *os.Root) ([]string, error) {
	names, err := Names(base)
	var groups []string
	for _, name := range names {
		info, err := base.Lstat(name)
		if err != nil || !info.IsDir() || !model.IsPlaceName(name) {
			continue
		}
		if _, err := base.Lstat(filepath.Join(name, ".git")); errors.Is(err, fs.ErrNotExist) {
			groups = append(groups, name)
		}
	}
	return groups, err
}

// ClaimedBy returns the id of the workspace to which the worktree at dir says that
// it belongs, or "". A program in it may have written that: only git's entry, which
// has the id as its name, proves it.
func ClaimedBy(dir string) string {
	entry, err := git.ReadPath(filepath.Join(dir, ".git"), dir)
	if id := filepath.Base(entry); err == nil && filepath.Base(filepath.Dir(entry)) == "worktrees" && model.CheckID(id) == nil {
		return id
	}
	return ""
}

// othersPlace reports whether the worktree at w.Root is another workspace's: its
// repository has an entry for that one there, and none for w.
func othersPlace(w model.Workspace) (bool, error) {
	if w.Mode != model.ModeWorktree || Name(w) == w.ID {
		return false, nil
	}
	if there, err := Exists(w.GitDir); !there {
		return false, err
	}
	own, err := git.FindEntry(w.GitDir, w.ID, w.Root)
	if err != nil || own != "" {
		return false, err
	}
	any, err := git.FindEntry(w.GitDir, "", w.Root)
	return any != "", err
}

// Search returns the place in base of the worktree with that id, whose record does
// not say it, or "". Git's entry for it says where it is, or else the link with
// which a creation began, or else the worktree itself.
func Search(base *os.Root, gitDir, id string) (root string, err error) {
	if gitDir != "" {
		at, err := git.EntryRoot(filepath.Join(gitDir, "worktrees", id))
		if claimed := ClaimedBy(at); err == nil && IsPlace(base.Name(), at) && (claimed == id || claimed == "") {
			return at, nil
		}
	}
	groups, err := Groups(base)
	if err != nil {
		return "", err
	}
	for _, name := range groups {
		root, err := searchGroup(base, name, id)
		if root != "" || err != nil && !errors.Is(err, ErrNoGroup) {
			return root, err
		}
	}
	return "", nil
}

func searchGroup(base *os.Root, name, id string) (root string, err error) {
	group, err := OpenGroup(base, name, false)
	if err != nil {
		return "", err
	}
	defer group.Close()
	if name := Linked(group, id); name != "" {
		return filepath.Join(group.Name(), name), nil
	}
	names, err := Names(group)
	for _, name := range names {
		if root := filepath.Join(group.Name(), name); model.IsPlaceName(name) && (name == id || ClaimedBy(root) == id) {
			return root, nil
		}
	}
	return "", err
}
