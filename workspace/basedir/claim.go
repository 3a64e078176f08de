package basedir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/private"
	"middleman/workspace/model"
)

// Claim asks for the directory of a new worktree in a base.
type Claim struct {
	ID, Name   string
	Repository string   // the top of the main checkout
	GitDir     string   // the common git directory
	Taken      []string // places that it must not get
	Recorded   []string // the ids of the repository's workspaces, deleted ones among them
}

// Claimed is the empty directory that a claim has got. Until it is closed nobody
// else can claim a directory in the same group. So it is closed when git has an
// entry for the worktree, which tells others that the place is taken.
type Claimed struct {
	*Held        // the group
	Name  string // in the group
	lock  *os.File
}

// Close lets others claim, and closes the group.
func (c *Claimed) Close() error {
	_ = c.lock.Close() // it is nil on Windows, which has no such lock
	return c.Held.Close()
}

// Make makes the directory GROUP/NAME in base, where GROUP is the name of the
// repository and NAME that of the workspace. Each gets a number if it is taken:
// GROUP by another repository, NAME by a directory, by an entry of the repository,
// or by Taken. The caller closes the result, and base after it.
//
// A group belongs to the repository that has entries for worktrees in it, so no record
// of that can be wrong; or to any, if it holds at most what a delete or a restore has
// in hand of Recorded, which may have no entry. A delete that removes an empty group takes no lock:
// then nothing can be made there any more, and Make begins again.
func (c Claim) Make(ctx context.Context, base *os.Root) (*Claimed, error) {
	const tries = 10
	var err error
	for range tries {
		var made *Claimed
		made, err = c.try(ctx, base)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNoGroup) {
			return made, err
		}
	}
	return nil, err
}

func (c Claim) try(ctx context.Context, base *os.Root) (*Claimed, error) {
	first := model.Group(c.Repository)
	for n := 1; n <= model.MaxSuffix; n++ {
		made, err := openClaimed(ctx, base, model.Numbered(first, n))
		if err != nil {
			return nil, err
		}
		ours, err := c.fill(made)
		if ours && err == nil {
			return made, nil
		}
		if err = errors.Join(err, made.Close()); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("directory %s and %d more with a number in %s belong to other repositories: %w", first, model.MaxSuffix-1, base.Name(), fs.ErrExist)
}

// MakeAtID makes the directory of a worktree in base at its id. The caller closes
// the result.
func MakeAtID(base *os.Root, id string) (*Claimed, error) {
	if err := MakeDir(base, id); err != nil {
		return nil, err
	}
	return &Claimed{Held: &Held{Root: base}, Name: id}, nil
}

// openClaimed opens a group, which it makes if it is missing, and locks it.
func openClaimed(ctx context.Context, base *os.Root, name string) (*Claimed, error) {
	group, err := OpenGroup(base, name, true)
	if err != nil {
		return nil, err
	}
	made := &Claimed{Held: &Held{Root: group, base: base, group: name}}
	if made.lock, err = Lock(ctx, group); err != nil {
		return nil, errors.Join(err, made.Held.Close())
	}
	return made, nil
}

// Lock waits for the lock on a group, under which places in it are chosen. If the
// group is not at its path any more the error wraps ErrNoGroup. The caller closes the
// result, which is nil on Windows.
func Lock(ctx context.Context, group *os.Root) (*os.File, error) {
	lock, err := private.AwaitLockDir(ctx, group.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: %w", group.Name(), ErrNoGroup)
	}
	if err != nil || lock == nil {
		return nil, err
	}
	locked, err := lock.Stat()
	if err == nil {
		var opened fs.FileInfo
		if opened, err = group.Stat("."); err == nil && !os.SameFile(locked, opened) {
			err = fmt.Errorf("%s was replaced while it was locked: %w", group.Name(), ErrNoGroup)
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// fill makes the directory in a group, if that is the repository's.
func (c Claim) fill(made *Claimed) (ours bool, err error) {
	if _, err := made.Lstat(".git"); !errors.Is(err, fs.ErrNotExist) {
		return false, err // a workspace of an earlier version
	}
	roots, err := git.EntryRoots(c.GitDir)
	if err != nil {
		return false, err
	}
	for root := range roots {
		ours = ours || filepath.Dir(root) == made.Root.Name()
	}
	if !ours {
		names, err := Names(made.Root)
		if err != nil || slices.ContainsFunc(names, func(name string) bool { return !c.inHand(name) }) {
			return false, err
		}
	}
	for n := 1; n <= model.MaxSuffix; n++ {
		name := model.Numbered(c.Name, n)
		root := filepath.Join(made.Root.Name(), name)
		if roots[root] != "" || slices.Contains(c.Taken, root) || !model.IsPlaceName(name) {
			continue
		}
		if made.Name, err = makeLinked(made.Root, c.ID, name); !errors.Is(err, fs.ErrExist) {
			return true, err
		}
	}
	return true, fmt.Errorf("directory %s and %d more with a number in %s: %w", c.Name, model.MaxSuffix-1, made.Root.Name(), fs.ErrExist)
}

// inHand reports whether a delete or a restore of one of the repository's workspaces
// gives that name.
func (c Claim) inHand(name string) bool {
	return slices.ContainsFunc(c.Recorded, func(id string) bool {
		return slices.Contains([]string{DeletingName(id), TrashName(id), KeptName(id), RestoringName(id)}, name) ||
			strings.HasPrefix(name, id+LateMark)
	})
}

// makeLinked makes a directory with that name in a group for the workspace with
// that id, and Link's link to it. The link is first, so that Search finds what a
// creation has made that was killed. On a file system without links the directory
// is named by the id, as its entry in git must be.
func makeLinked(group *os.Root, id, name string) (string, error) {
	if there, err := existsIn(group, name); there || err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", filepath.Join(group.Name(), name), fs.ErrExist), err)
	}
	err := Link(group, id, name)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err != nil {
		name = id
	}
	fault.Here("create/linked")
	if err := MakeDir(group, name); err != nil {
		return "", errors.Join(err, Unlink(group, id))
	}
	return name, nil
}

// Link makes a link in dir from the id of a workspace to the name of its
// directory. git names its entry for a worktree by the last part of the path that
// it is given, and writes the true path into it. So through the link the entry gets
// the id as its name, which no other entry has.
func Link(dir *os.Root, id, name string) error {
	if id == name {
		return nil
	}
	if err := Unlink(dir, id); err != nil { // a creation of the same workspace that was killed
		return err
	}
	return dir.Symlink(name, id)
}

// Unlink removes the link that Link made, if it is there.
func Unlink(dir *os.Root, id string) error {
	info, err := dir.Lstat(id)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = dir.Remove(id)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// AddPath is the path by which git adds the worktree in dir with that name: through
// the link, if there is one.
func AddPath(dir *os.Root, id, name string) string {
	if Linked(dir, id) == name {
		name = id
	}
	return filepath.Join(dir.Name(), name)
}

// Linked returns the name to which the link with that id leads, or "".
func Linked(dir *os.Root, id string) string {
	name, err := dir.Readlink(id)
	if err != nil || !model.IsPlaceName(name) {
		return ""
	}
	return name
}
