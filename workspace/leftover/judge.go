package leftover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/keep"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// kindOf returns what kind of entry a name in the base is, and the workspace's
// id.
func kindOf(name string) (Kind, string) {
	for _, k := range []struct {
		kind Kind
		name func(string) string
	}{
		{KindTrash, basedir.TrashName}, {KindDeleting, basedir.DeletingName}, {KindRestoring, basedir.RestoringName}, {KindKept, basedir.KeptName},
	} {
		if id, is := strings.CutPrefix(name, k.name("")); is {
			return k.kind, id
		}
	}
	return KindDirectory, name
}

// directory judges the entry called name in a base or a group.
func (s *survey) directory(ctx context.Context, b *listed, name string) {
	kind, id := b.kindOf(name)
	l := Leftover{Kind: kind, What: filepath.Join(b.root.Name(), name), ID: id}
	if s.holds(l.What) || b.foreign(name) {
		return
	}
	if of, _, late := strings.Cut(name, basedir.LateMark); late {
		l.Kind, l.ID = KindUnknown, ""
		l.Why = "a program wrote it while workspace " + plaintext.Quoted(of) + " was deleted, or it could not be removed: look into it, and move it away"
	} else if model.CheckID(id) != nil {
		l.Kind, l.ID = KindUnknown, ""
		l.Why = "middleman did not make it: look into it, and move it away"
	}
	if of, recorded := owner(s.Workspaces, id); recorded && b.group && kind == KindDirectory && of.Root != "" && name != id && !b.moved(of, l.What) {
		l.Kind, l.ID = KindUnknown, ""
		l.Why = "its .git is that of workspace " + of.Name + ", which is at " + plaintext.Quoted(of.Root) + ": look into it, and move it away"
	} else if recorded {
		return
	}
	if s.begun(b, name) || !s.wanted(l) {
		return
	}
	_, deleted := owner(s.Deleted, id)
	switch l.Kind {
	case KindTrash:
		l.stays(s.trash(ctx, l.What), "a delete that had inspected it twice was interrupted, or could not remove all of it")
	case KindRestoring:
		l.stays(s.gathered(ctx, l.What, id), "an interrupted restore was making it from a snapshot, which still exists")
	case KindKept:
		if deleted {
			return // a restore brings it back
		}
		l.Lost, _ = look.Directory(l.What)
		l.Why, l.Hint = "a delete kept it, because no repository can hold it", importHint(l.What)
	case KindDirectory, KindDeleting:
		s.ownDirectory(ctx, b, name, &l)
	}
	l.onlyOwn(b)
	s.add(l)
}

// holds reports whether path is the directory of a recorded workspace, or a group
// with one.
func (s *survey) holds(path string) bool {
	return slices.ContainsFunc(s.Workspaces, func(w model.Workspace) bool {
		return w.Root == path || filepath.Dir(w.Root) == path && basedir.IsPlace(filepath.Dir(path), w.Root)
	})
}

// begun judges what a creation leaves in a group if it is killed before git has made
// the worktree: a link, and an empty directory. It returns false for anything else.
// Another manager may be making a workspace there, so they are left over only when
// they are settled.
func (s *survey) begun(b *listed, name string) bool {
	if kind, _ := kindOf(name); !b.group || kind != KindDirectory {
		return false
	}
	info, err := b.root.Lstat(name)
	if err != nil || !info.IsDir() && basedir.Linked(b.root, name) == "" {
		return err != nil
	}
	path := filepath.Join(b.root.Name(), name)
	if entries, err := os.ReadDir(path); info.IsDir() && (err != nil || len(entries) > 0) {
		return false
	}
	l := Leftover{Kind: KindTrash, What: path, Prunable: true, Why: "a creation that was killed left it, and it is empty"}
	if time.Since(info.ModTime()) > settled && s.wanted(l) {
		s.add(l)
	}
	return true
}

// emptyGroup judges a group that holds nothing.
func (s *survey) emptyGroup(b *listed) {
	l := Leftover{Kind: KindTrash, What: b.root.Name(), Prunable: true, Why: "it was for the worktrees of a repository, and is empty"}
	if !b.group || b.given != "" || len(b.names) > 0 || !s.wanted(l) {
		return
	}
	if info, err := b.root.Stat("."); err == nil && time.Since(info.ModTime()) > settled {
		s.add(l)
	}
}

// onlyOwn makes l not prunable if its directory is in a scope, or in a base that the
// user named, because other managers may use that too.
func (l *Leftover) onlyOwn(b *listed) {
	if l.Prunable && b != nil && !b.own() {
		l.Prunable = false
		l.Why += "; but it is not known whether it belonged to another data directory"
	}
}

func importHint(path string) string { return "middleman import " + plaintext.Quoted(path) }

// stays sets whether l may be pruned: with err it stays because of err, else it
// may go because of why.
func (l *Leftover) stays(err error, why string) {
	l.Prunable, l.Why = err == nil, why
	if err != nil {
		l.Why = err.Error()
	}
}

// ownDirectory judges a directory that has no record.
func (s *survey) ownDirectory(ctx context.Context, b *listed, name string, l *Leftover) {
	w, err := s.f.identify(ctx, b, name)
	l.Repository = w.Repository
	if err == nil {
		l.Hint = importHint(l.What)
		err = s.idle(l.ID)
	}
	if err != nil {
		l.stays(err, "")
		return
	}
	if l.Lost, err = s.f.Inspect(ctx, w); err != nil || !l.Lost.Empty() {
		l.stays(err, "no workspace has it, and it holds work: "+l.Lost.Summary())
		l.Prunable = false
		return
	}
	l.stays(nil, "no workspace has it, and it holds no work")
}

// idle returns nil if no session runs in the workspace with that id, else why
// it may not be removed.
func (s *survey) idle(id string) error {
	if s.Unsure != nil {
		return fmt.Errorf("find out whether a session runs in it: %w: %w", model.ErrUnknown, s.Unsure)
	}
	if why := s.Busy[id]; why != "" {
		return errors.New(why)
	}
	return nil
}

// trash checks that git works for the repository of a directory that a delete
// was removing. If git cannot answer, nothing is removed.
func (s *survey) trash(ctx context.Context, dir string) error {
	entry, err := git.ReadPath(filepath.Join(dir, ".git"), dir)
	if errors.Is(err, fs.ErrNotExist) {
		c := git.Command{Dir: filepath.Dir(dir), Args: []string{"--version"}}
		version, err := c.Line(ctx)
		if err == nil && version == "" {
			err = c.Silent()
		}
		return err
	}
	if err != nil {
		return model.Unknown(err)
	}
	_, err = git.Whole(filepath.Dir(filepath.Dir(entry))).Worktrees(ctx)
	return err
}

// gathered checks that the snapshot still exists from which a restore took its
// files.
func (s *survey) gathered(ctx context.Context, dir, id string) error {
	gitDir := ""
	if d, is := owner(s.Deleted, id); is {
		gitDir = d.GitDir
	} else if entry, err := git.ReadPath(filepath.Join(dir, ".git"), dir); err == nil {
		gitDir = filepath.Dir(filepath.Dir(entry))
	}
	if gitDir == "" {
		return fmt.Errorf("find out which repository it belongs to: %w", model.ErrUnknown)
	}
	return s.snapshotIn(ctx, gitDir, id)
}

func (s *survey) snapshotIn(ctx context.Context, gitDir, id string) error {
	commit, err := git.Whole(gitDir).Ref(ctx, keep.Ref(id))
	if err == nil && commit == "" {
		err = fmt.Errorf("its snapshot is not in %s: %w", gitDir, model.ErrUnknown)
	}
	return err
}

// inRepository judges a leftover that was found in a repository.
func (s *survey) inRepository(ctx context.Context, l Leftover) {
	if _, recorded := owner(s.Workspaces, l.ID); recorded || !s.wanted(l) {
		return
	}
	switch l.Kind {
	case KindRestoring:
		l.stays(s.snapshotIn(ctx, l.gitDir, l.ID), "an interrupted restore was making it from a snapshot, which still exists")
	case KindTrash:
		l.stays(unused(l.What), "a delete that was killed was making a snapshot there, which nothing names")
	case KindEntry:
		if !s.entry(ctx, &l) {
			return
		}
	case KindBranch:
		if !s.branch(ctx, &l) {
			return
		}
	case KindSnapshot:
		if _, known := owner(s.Deleted, l.ID); known {
			return
		}
		s.snapshot(ctx, &l)
	}
	s.add(l)
}

// unused returns nil if nothing in a staging directory is younger than settled, else why it
// stays: a prune deletes workspaces that no record has, and may be at it.
func unused(dir string) error {
	return filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && time.Since(info.ModTime()) < settled {
			err = errors.New("it has changed a few minutes ago: a delete may be making a snapshot there")
		}
		return err
	})
}

// entry judges git's entry of a worktree. It returns false if the directory is
// there under any name: the directory is judged instead.
func (s *survey) entry(ctx context.Context, l *Leftover) bool {
	b := s.base(filepath.Dir(l.root))
	for _, name := range []string{filepath.Base(l.root), basedir.DeletingName(l.ID), basedir.KeptName(l.ID)} {
		if b == nil {
			break // the group is gone, and all in it
		}
		if _, err := b.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	w, err := s.f.goneWorkspace(ctx, *l)
	if err == nil {
		l.Lost, err = s.f.Inspect(ctx, w)
	}
	switch {
	case !l.Lost.Empty():
		l.Why, l.Hint = "its directory is gone, and git's own files hold work: "+l.Lost.Summary(), "git worktree repair, or git worktree remove"
	case err != nil && !errors.Is(err, model.ErrMissing):
		l.Why = err.Error()
	default:
		l.stays(nil, "its directory is gone, and nothing is lost with it")
	}
	if b == nil {
		b = s.base(filepath.Dir(filepath.Dir(l.root)))
	}
	l.onlyOwn(b)
	return true
}

// goneWorkspace rebuilds what is left of the workspace of an entry.
func (f Finder) goneWorkspace(ctx context.Context, l Leftover) (model.Workspace, error) {
	w := model.Workspace{
		ID: l.ID, Name: l.ID, Mode: model.ModeWorktree, Root: l.root, BaseDir: l.given,
		Repository: l.Repository, GitDir: l.gitDir, State: model.StateReady,
	}
	head, err := git.Dirs{GitDir: l.What, CommonDir: l.gitDir}.Look("symbolic-ref", "--quiet", "HEAD").Line(ctx)
	if err != nil && git.ExitCode(err) != 1 {
		return w, err
	}
	err = f.findBranch(ctx, &w, strings.TrimPrefix(head, "refs/heads/"))
	w.Name = f.nameOf(w.Branch, w.ID)
	return w, err
}

// branch judges a branch below our prefix. It returns false if the branch was
// not made for a workspace, or if a workspace has it.
func (s *survey) branch(ctx context.Context, l *Leftover) bool {
	for _, w := range s.Workspaces {
		making := w.State == model.StateCreating || w.State == model.StateRestoring
		if w.Branch == l.What && w.GitDir == l.gitDir || making && (w.GitDir == l.gitDir || w.GitDir == "") {
			return false
		}
	}
	for _, d := range s.Deleted {
		if d.Branch == l.What && d.GitDir == l.gitDir {
			return false
		}
	}
	repo := git.Whole(l.gitDir)
	log, err := repo.BranchLog(ctx, l.What)
	if err != nil {
		l.Why = err.Error()
		return true
	}
	id := model.MadeID(log.Note)
	last, err := strconv.ParseInt(log.Last, 10, 64)
	_, retired := s.Retired[id]
	if id == "" || err != nil || !retired && time.Since(time.Unix(last, 0)) < settled {
		return false
	}
	if _, recorded := owner(s.Workspaces, id); recorded {
		return false
	}
	return s.unusedBranch(ctx, repo, l, id)
}

// unusedBranch judges a branch of ours by its worktree and its commits.
func (s *survey) unusedBranch(ctx context.Context, repo git.Dirs, l *Leftover, id string) bool {
	l.ID = id
	trees, err := repo.Worktrees(ctx)
	if err != nil {
		l.Why = err.Error()
		return true
	}
	for _, tree := range trees {
		if tree.Branch == "refs/heads/"+l.What {
			return false
		}
	}
	l.Lost, err = look.Branch(ctx, repo, l.What, l.object)
	switch {
	case err != nil:
		l.Why = err.Error()
	case !l.Lost.Empty():
		l.Why = "its workspace is gone, and it holds work: " + l.Lost.Summary()
	default:
		l.stays(nil, "its workspace is gone, no worktree has it, and all its commits are on another branch or a remote")
	}
	return true
}

// snapshot says which workspace an unrecorded snapshot belongs to.
func (s *survey) snapshot(ctx context.Context, l *Leftover) {
	d, err := keep.Snapshot(ctx, s.f.bases(), l.gitDir, l.Repository, l.ID)
	switch {
	case errors.Is(err, model.ErrEscapes):
		l.Why = "it is the snapshot of a workspace in another base directory"
	case err != nil:
		l.Why = err.Error()
	default:
		l.Why = "it is the snapshot of workspace " + d.Name + ", which is not known to be deleted, so it is not removed without consent"
		l.Hint = "middleman import in " + plaintext.Quoted(l.Repository) + ", then middleman restore " + d.Name
	}
}
