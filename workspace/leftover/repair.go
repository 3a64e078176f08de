package leftover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/keep"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// ErrMoved: a part of a workspace is not where it was, and we do not know where
// it is.
var ErrMoved = errors.New("it is no longer there")

// Repair finds the moved parts of w and updates git's files. It returns the
// updated w, and what it found, one line each. repository, if not "", is a
// directory in the repository at its new place. That must prove that it is w's
// repository: it has w's entry, locked with our reason, and w's branch. A
// worktree that the user moved with git becomes an in-place workspace. With
// dryRun nothing is changed.
func (f Finder) Repair(ctx context.Context, w model.Workspace, repository string, dryRun bool) (model.Workspace, []string, error) {
	r := &repairing{f: f, w: w, dryRun: dryRun}
	if err := r.run(ctx, repository); err != nil {
		return w, nil, fmt.Errorf("repair workspace %s: %w", w.Name, err)
	}
	return r.w, r.found, nil
}

// repairing is one run of Repair.
type repairing struct {
	f      Finder
	w      model.Workspace
	dryRun bool
	found  []string
	git    bool // git's files need repair
}

func (r *repairing) note(format string, args ...any) {
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

func (r *repairing) run(ctx context.Context, repository string) error {
	x, err := r.f.Where(r.w)
	if err != nil {
		return err
	}
	if r.w.Mode == model.ModeInPlace {
		return r.inPlace(ctx, x, repository)
	}
	if x.Base != "" {
		r.w.Root, r.git = x.Base, true
		if r.w.BaseDir != "" {
			r.w.BaseDir = filepath.Dir(filepath.Dir(x.Base))
		}
		r.note("its directory is %s", x.Base)
	}
	if r.w.Mode != model.ModeWorktree {
		return missingAt(x, r.w)
	}
	if err := r.findRepository(ctx, x, repository); err != nil {
		return err
	}
	if x.Missing && x.Moved == "" && repository != "" {
		return r.movedByHand(ctx, repository)
	}
	entry, err := r.prove(ctx, x)
	if err != nil {
		return err
	}
	if x, err = r.f.Where(r.w); err != nil {
		return err
	}
	if x.Missing && x.Moved != "" {
		r.becomeInPlace(x.Moved)
		return nil
	}
	if x.Astray != "" && !r.git {
		r.git = true
		r.note("its .git led to %s", plaintext.Quoted(x.Astray))
	}
	if err := missingAt(x, r.w); err != nil || !r.git {
		return err
	}
	if err := checkIsFile(filepath.Join(r.w.Root, ".git")); err != nil || r.dryRun {
		return err
	}
	return r.runGit(ctx, entry)
}

// becomeInPlace makes the worktree that the user has moved to dir theirs.
func (r *repairing) becomeInPlace(dir string) {
	r.note("its worktree was moved to %s: it is an in-place workspace there now, and yours", plaintext.Quoted(dir))
	r.w.Mode, r.w.Root, r.w.BaseDir = model.ModeInPlace, dir, ""
}

// movedByHand finds the worktree in the checkout that has dir, to where the user
// moved it without git: its .git must still lead to the entry of w.
func (r *repairing) movedByHand(ctx context.Context, dir string) error {
	repo, err := git.Discover(ctx, dir)
	if err != nil {
		return err
	}
	top := repo.Here.WorkTree
	entry, err := r.prove(ctx, Whereabouts{})
	if err != nil {
		return err
	}
	if top == "" || !leadsTo(top, entry) {
		return missingAt(Whereabouts{Missing: true}, r.w)
	}
	r.becomeInPlace(top)
	if r.dryRun {
		return nil
	}
	return r.runGit(ctx, entry)
}

// leadsTo reports whether the .git file in dir leads to entry.
func leadsTo(dir, entry string) bool {
	target, err := git.ReadPath(filepath.Join(dir, ".git"), dir)
	return err == nil && git.SameDir(target, entry)
}

// missingAt returns an error if the directory itself is gone.
func missingAt(x Whereabouts, w model.Workspace) error {
	if !x.Missing {
		return nil
	}
	if w.Mode == model.ModeWorktree {
		return fmt.Errorf("%s: %w; if it was moved, run middleman repair %s in its new place", plaintext.Quoted(w.Root), model.ErrMissing, w.Name)
	}
	return fmt.Errorf("%s: %w", plaintext.Quoted(w.Root), model.ErrMissing)
}

// inPlace finds again the repository of the user's directory: the one that its
// .git leads to, or the given one.
func (r *repairing) inPlace(ctx context.Context, x Whereabouts, repository string) error {
	if err := missingAt(x, r.w); err != nil {
		return fmt.Errorf("%w; it is yours: middleman rm %s forgets it, middleman import takes it where it is now", err, r.w.Name)
	}
	before := r.w.GitDir
	r.f.FillInPlace(ctx, &r.w)
	if r.w.GitDir != before {
		r.note("its repository is %s", plaintext.Quoted(r.w.Repository))
		return nil
	}
	switch {
	case !x.NoRepository:
		return nil
	case repository == "":
		return r.moved()
	}
	return r.relink(ctx, repository)
}

// moved returns the error for a repository that is gone.
func (r *repairing) moved() error {
	return fmt.Errorf("its repository %s: %w; give its new path with --repository DIR", plaintext.Quoted(r.w.Repository), ErrMoved)
}

// relink makes the user's worktree point to its repository at its new place.
// The repository must prove that it is the one: it has the entry that the
// worktree's .git names, and that entry names the worktree.
func (r *repairing) relink(ctx context.Context, repository string) error {
	repo, err := git.Discover(ctx, repository)
	if err != nil {
		return err
	}
	link := filepath.Join(r.w.Root, ".git")
	old, err := git.ReadPath(link, r.w.Root)
	if err != nil {
		return err
	}
	entry := filepath.Join(repo.Here.CommonDir, "worktrees", filepath.Base(old))
	back, err := git.ReadPath(filepath.Join(entry, "gitdir"), entry)
	if filepath.Dir(filepath.Dir(old)) != r.w.GitDir || err != nil || back != link {
		return fmt.Errorf("%s has no worktree %s: %w", plaintext.Quoted(repo.Main), plaintext.Quoted(r.w.Root), model.ErrUnknown)
	}
	r.w.GitDir, r.w.Repository = repo.Here.CommonDir, repo.Main
	r.note("its repository is %s", plaintext.Quoted(r.w.Repository))
	if r.dryRun {
		return nil
	}
	return r.runGit(ctx, entry)
}

// findRepository finds the repository of w, and records it in r.w.
func (r *repairing) findRepository(ctx context.Context, x Whereabouts, repository string) error {
	switch {
	case repository != "":
	case !x.NoRepository:
		return nil
	default: // the user may have repaired the worktree with git
		target, err := git.ReadPath(filepath.Join(r.w.Root, ".git"), r.w.Root)
		if err != nil {
			return r.moved()
		}
		gitDir := filepath.Dir(filepath.Dir(target))
		if there, err := basedir.Exists(gitDir); !there {
			return errors.Join(r.moved(), err)
		}
		trees, err := git.Whole(gitDir).Worktrees(ctx)
		if err != nil {
			return err
		}
		r.w.GitDir, r.w.Repository = gitDir, trees[0].Path
		r.note("its repository is %s", plaintext.Quoted(r.w.Repository))
		return nil
	}
	repo, err := git.Discover(ctx, repository)
	if err != nil {
		return err
	}
	if repo.Here.CommonDir != r.w.GitDir {
		old := filepath.Join(r.w.GitDir, "worktrees", r.w.ID)
		if reason, err := git.LockReason(filepath.Join(old, "locked")); err == nil && reason == git.WorkspaceReason(r.w.ID) {
			return fmt.Errorf("its repository %s still exists and has it, so %s may be a copy: %w", plaintext.Quoted(r.w.Repository), plaintext.Quoted(repo.Main), model.ErrUnknown)
		}
		r.w.GitDir, r.w.Repository, r.git = repo.Here.CommonDir, repo.Main, true
		r.note("its repository is %s", plaintext.Quoted(r.w.Repository))
	}
	return nil
}

// prove checks that the repository is the one in which w was made: it has w's
// entry, locked with our reason, and w's branch. git moves a worktree only once its
// lock is off or overruled, so in the recorded repository the two links between the
// entry and x.Moved stand for the lock.
func (r *repairing) prove(ctx context.Context, x Whereabouts) (entry string, err error) {
	entry = filepath.Join(r.w.GitDir, "worktrees", r.w.ID)
	reason, err := git.LockReason(filepath.Join(entry, "locked"))
	if err != nil {
		return "", err
	}
	unlocked := reason == "" && !r.git && x.Moved != "" && leadsTo(x.Moved, entry)
	if reason != git.WorkspaceReason(r.w.ID) && !unlocked {
		return "", fmt.Errorf("%s has no worktree that is locked as workspace %s: %w", plaintext.Quoted(r.w.Repository), r.w.ID, model.ErrUnknown)
	}
	if r.w.Branch == "" {
		return entry, nil
	}
	tip, err := git.Whole(r.w.GitDir).Ref(ctx, "refs/heads/"+r.w.Branch)
	if err == nil && tip == "" {
		err = fmt.Errorf("%s has no branch %s: %w", plaintext.Quoted(r.w.Repository), plaintext.Quoted(r.w.Branch), model.ErrUnknown)
	}
	return entry, err
}

// checkIsFile checks that the .git of a worktree is a file, as git makes it, or
// is missing.
func checkIsFile(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not the file that git made there: %w", path, model.ErrUnknown)
	}
	return err
}

// runGit makes entry and worktree point to each other.
func (r *repairing) runGit(ctx context.Context, entry string) error {
	if _, err := git.Whole(r.w.GitDir).Alter("worktree", "repair", r.w.Root).Run(ctx); err != nil {
		return err
	}
	fault.Here("repair/git")
	found, err := git.FindEntry(r.w.GitDir, r.w.ID, r.w.Root)
	if err == nil && (found == "" || !git.SameDir(found, entry)) {
		err = fmt.Errorf("git did not repair %s: %w", plaintext.Quoted(entry), model.ErrUnknown)
	}
	if err != nil {
		return err
	}
	return look.CheckGitFile(r.w.Root, entry)
}

// RepairDeleted is Repair for a deleted workspace: it finds its snapshot in
// repository, or its kept directory in our base if that was moved. Of an in-place
// workspace nothing is kept, and its directory is the user's.
func (f Finder) RepairDeleted(ctx context.Context, w model.Workspace, repository string) (model.Workspace, error) {
	if w.Mode == model.ModeInPlace {
		return w, nil
	}
	fail := func(err error) (model.Workspace, error) {
		return w, fmt.Errorf("repair deleted workspace %s: %w", w.Name, err)
	}
	canonical, err := basedir.Canonical(basedir.BaseOf(f.Base, w))
	if err != nil {
		return fail(err)
	}
	if _, scoped := basedir.ScopeOf(w.Root); !scoped || w.BaseDir != "" {
		w.Root = basedir.InBase(canonical, w)
	}
	if repository == "" || w.Mode != model.ModeWorktree {
		return w, nil
	}
	repo, err := git.Discover(ctx, repository)
	if err != nil {
		return fail(err)
	}
	commit, err := git.Whole(repo.Here.CommonDir).Ref(ctx, keep.Ref(w.ID))
	if err == nil && commit == "" {
		err = fmt.Errorf("%s keeps nothing of it: %w", plaintext.Quoted(repo.Main), keep.ErrNoSnapshot)
	}
	if err != nil {
		return fail(err)
	}
	w.GitDir, w.Repository = repo.Here.CommonDir, repo.Main
	return w, nil
}
