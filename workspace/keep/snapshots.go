package keep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// Kept is a deleted workspace as its snapshot describes it.
type Kept struct {
	model.Workspace           // its State is StateDeleted
	DeletedAt       time.Time // when the snapshot was made
}

// Snapshots returns the deleted workspaces of bases that a repository keeps. The
// first of these is the manager's own. others maps the ids of the rest to the reason:
// they cannot be read, or belong to another base.
func Snapshots(ctx context.Context, bases []string, gitDir, repository string) (list []Kept, others map[string]error, err error) {
	out, err := git.Whole(gitDir).Look("for-each-ref", "--format=%(refname)", Ref("")).Line(ctx)
	if err != nil {
		return nil, nil, err
	}
	others = map[string]error{}
	for line := range strings.Lines(out) {
		id := strings.TrimPrefix(strings.TrimSpace(line), Ref(""))
		kept, err := Snapshot(ctx, bases, gitDir, repository, id)
		if err != nil {
			others[id] = err
			continue
		}
		list = append(list, kept)
	}
	return list, others, nil
}

// Snapshot reads one snapshot. It returns an ErrEscapes if that is of a
// workspace outside bases.
func Snapshot(ctx context.Context, bases []string, gitDir, repository, id string) (_ Kept, err error) {
	defer model.Containing(id, &err)
	if err := model.CheckID(id); err != nil {
		return Kept{}, err
	}
	w := model.Workspace{ID: id, Mode: model.ModeWorktree, Repository: repository, GitDir: gitDir, State: model.StateDeleted}
	s, _, err := readSnapshot(ctx, git.Whole(gitDir), w)
	if err != nil {
		return Kept{}, err
	}
	if w.Root, err = s.root(ctx, git.Whole(gitDir)); err != nil {
		return Kept{}, err
	}
	in := -1
	for i, base := range bases {
		canonical, err := basedir.Canonical(base)
		if err != nil && i == 0 {
			return Kept{}, err
		}
		if err != nil {
			continue
		}
		if i == 0 && w.Root == filepath.Join(canonical, id) || basedir.IsPlace(canonical, w.Root) {
			in = i
			if i > 0 {
				w.BaseDir = canonical
			}
			break
		}
	}
	if in < 0 {
		return Kept{}, fmt.Errorf("%s is the snapshot of %s: %w", Ref(id), plaintext.Quoted(w.Root), model.ErrEscapes)
	}
	w.Name, w.Branch, w.CreatedAt = s.Name, s.Branch.Name, s.Made
	if slug, err := model.Slug(w.Name); err != nil || slug != w.Name {
		w.Name = id
	}
	if s.Branch.Name != "" {
		log, err := git.Whole(gitDir).BranchLog(ctx, s.Branch.Name)
		if err == nil && model.MadeID(log.Note) == id {
			w.BaseCommit = log.Commit
		}
	}
	return Kept{Workspace: w, DeletedAt: s.Made}, nil
}

// maxRoot is the size limit in bytes of git's file gitdir, which has a path.
const maxRoot = 64 << 10

// root returns the directory that the snapshot was made of. A snapshot of an
// older version records it only in git's file gitdir, if there was one. Then
// the result may be "".
func (s snapshot) root(ctx context.Context, repo git.Dirs) (string, error) {
	if s.Root != "" {
		return s.Root, nil
	}
	for _, f := range s.State {
		if string(f.Path) != "gitdir" || f.Blob == "" {
			continue
		}
		content := &bounded{most: maxRoot}
		c := repo.Look("cat-file", "blob", f.Blob)
		c.Output = content
		if _, err := c.Run(ctx); err != nil || content.over != nil {
			return "", fmt.Errorf("read git's file gitdir in %s: %w", Ref(s.ID), cmp.Or(content.over, err))
		}
		return filepath.Dir(strings.TrimSpace(content.buffer.String())), nil
	}
	return "", nil
}

// Forget deletes for good what is kept of a deleted workspace. Nothing kept is
// no error. If it cannot find out whether anything is kept it returns an error
// and changes nothing.
func Forget(ctx context.Context, base string, w model.Workspace) error {
	if w.Mode == model.ModeInPlace {
		return nil
	}
	root, err := basedir.HoldingMade(base, w)
	if err != nil {
		return fmt.Errorf("forget workspace %s: %w", w.Name, err)
	}
	defer root.Close()
	if w.Mode == model.ModeWorktree {
		commit, err := git.Whole(w.GitDir).Ref(ctx, Ref(w.ID))
		if err == nil && commit != "" {
			err = dropTrash(ctx, git.Whole(w.GitDir), w.ID, commit)
		}
		if err != nil {
			return fmt.Errorf("forget workspace %s: %w", w.Name, err)
		}
	}
	return basedir.RemoveAll(root.Root, basedir.KeptName(w.ID))
}

// IsKept reports whether a restore could bring back a deleted workspace.
func IsKept(ctx context.Context, base string, w model.Workspace) (bool, error) {
	if w.Mode == model.ModeInPlace {
		return w.RestoreFrom == model.FromSnapshot, nil
	}
	root, err := basedir.Holding(base, w)
	if err == nil {
		defer root.Close()
		if there, err := basedir.Exists(filepath.Join(root.Name(), basedir.KeptName(w.ID))); there || err != nil {
			return there, err
		}
	} else if !errors.Is(err, basedir.ErrNoGroup) {
		return false, err
	}
	if w.Mode != model.ModeWorktree {
		return false, nil
	}
	commit, err := git.Whole(w.GitDir).Ref(ctx, Ref(w.ID))
	return commit != "", err
}
