package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/contain"
	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// restoredMark is a file in git's directory for a worktree, from the time that
// the directory is in its place until the snapshot is dropped. It holds the
// branch's name.
const restoredMark = "middleman-restored"

const maxMark = 64 << 10 // bytes of restoredMark

// Restore brings back what a delete of w kept, to base or to the scope that w
// is recorded in. It returns the updated w, and notes, one per line, on what
// differs from before: a branch whose name is taken gets a number, and some
// files may not have been kept. It returns ErrOccupied if something else has
// the workspace's place, and ErrNoSnapshot if nothing was kept. After an error
// the snapshot is still there, and nothing else of the restore. After a crash
// another Restore completes it. A worktree with model.FromTip comes back without
// its files.
func Restore(ctx context.Context, base string, w model.Workspace, progress model.Progress) (model.Workspace, []string, error) {
	var r *restoration
	var err error
	const tries = 10
	for range tries {
		r = &restoration{own: base, w: w, repo: git.Whole(w.GitDir), report: progress.OrSilent()}
		run := r.run
		if w.RestoreFrom != model.FromSnapshot {
			run = r.remake
		}
		if err = contain.Call(func() error { return run(ctx) }); !r.lostGroup(err) {
			break
		}
	}
	if err != nil {
		return model.Workspace{}, nil, fmt.Errorf("restore workspace %s: %w", w.Name, err)
	}
	if r.w.Root != w.Root {
		r.notes = append(r.notes, fmt.Sprintf("its directory cannot be made at %s again, so it is %s now", plaintext.Quoted(w.Root), r.w.Root))
	}
	r.w.State, r.w.Error = model.StateReady, ""
	r.w.RestoreFrom, r.w.Tip = model.FromSnapshot, ""
	return r.w, r.notes, nil
}

// restoration is one run of Restore.
type restoration struct {
	own    string // the manager's base
	w      model.Workspace
	held   *basedir.Held
	base   *os.Root    // of held
	opened fs.FileInfo // of base
	repo   git.Dirs
	report model.Progress
	snap   snapshot
	commit string // the snapshot's commit
	undo   []func(context.Context) error
	notes  []string
	// renamed maps the old names of branches to new ones.
	renamed map[string]string
}

func (r *restoration) run(ctx context.Context) (err error) {
	if r.w.Mode == model.ModeInPlace {
		return r.findInPlace() // no delete removes it, and the caller kept the rest
	}
	if err = r.openRestored(); err != nil {
		return err
	}
	defer r.held.Close()
	if done, err := r.finished(ctx); done || err != nil {
		return err
	}
	if _, err := r.base.Lstat(basedir.KeptName(r.w.ID)); err == nil {
		return r.report.Stage("place", func() error {
			return r.claimed(ctx, func() error { return r.put(basedir.KeptName(r.w.ID)) })
		})
	}
	if r.w.Mode == model.ModeDirectory {
		return ErrNoSnapshot
	}
	err = r.report.Stage("read", func() error {
		r.snap, r.commit, err = readSnapshot(ctx, r.repo, r.w)
		return err
	})
	if err != nil {
		return err
	}
	if err := contain.Call(func() error { return r.build(ctx) }); err != nil {
		return model.Unwind(ctx, r.undo, err)
	}
	r.notes = append(r.notes, r.unkept()...)
	return r.letGo(ctx, filepath.Join(r.w.GitDir, "worktrees", r.snap.Entry))
}

// finished completes a restore that was interrupted after the workspace was
// complete. It returns an error if something else has the workspace's place.
func (r *restoration) finished(ctx context.Context) (bool, error) {
	dir, err := basedir.Find(r.base, r.w)
	if errors.Is(err, model.ErrReplaced) {
		err = fmt.Errorf("%s: %w", r.w.Root, ErrOccupied)
	}
	if err != nil || dir == "" {
		return false, err
	}
	taken := fmt.Errorf("%s: %w", dir, ErrOccupied)
	if dir != r.w.Root || r.w.Mode != model.ModeWorktree {
		return false, taken
	}
	entry, err := git.FindEntry(r.w.GitDir, r.w.ID, r.w.Root)
	if err != nil {
		return false, errors.Join(taken, err)
	}
	mark, err := plainfile.ReadFollowed(filepath.Join(entry, restoredMark), maxMark)
	if entry == "" || err != nil || len(mark) > 0 && !model.IsBranchName(string(mark)) {
		return false, taken
	}
	r.w.OwnBranch = r.w.OwnBranch || r.w.Branch != string(mark) // only a branch that we made has another name
	r.w.Branch = string(mark)
	if r.commit, err = r.repo.Ref(ctx, Ref(r.w.ID)); err != nil {
		return false, err
	}
	return true, r.letGo(ctx, entry)
}

// build makes the workspace. The functions in undo remove what it made.
func (r *restoration) build(ctx context.Context) error {
	if err := r.clear(); err != nil {
		return err
	}
	err := r.report.Advancing("files", func(tell func(string)) (string, error) { return "", r.files(ctx, tell) })
	if err != nil {
		return err
	}
	fault.Here("restore/files")
	if err := r.report.Stage("branch", func() error { return r.branches(ctx) }); err != nil {
		return err
	}
	fault.Here("restore/branch")
	return r.claimed(ctx, func() error { return r.finish(ctx) })
}

// finish makes git's entry, and moves the directory to its place.
func (r *restoration) finish(ctx context.Context) error {
	if r.snap.Entry == "" {
		return r.report.Stage("entry", func() error { return r.newEntry(ctx) })
	}
	if err := r.report.Stage("entry", func() error { return r.entry(ctx) }); err != nil {
		return err
	}
	fault.Here("restore/entry")
	err := r.report.Stage("place", func() error { return r.put(basedir.RestoringName(r.w.ID)) })
	fault.Here("restore/placed")
	return err
}

// clear removes what an interrupted restore left. No user has worked there yet.
func (r *restoration) clear() error {
	entry, err := git.FindEntry(r.w.GitDir, r.w.ID, r.w.Root)
	if err != nil {
		return err
	}
	if entry != "" {
		if _, err := os.Lstat(filepath.Join(entry, restoredMark)); err != nil {
			return fmt.Errorf("git's entry %s belongs to that directory: %w", plaintext.Quoted(entry), ErrOccupied)
		}
		if err := os.RemoveAll(entry); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(r.gathered()); err != nil {
		return err
	}
	return basedir.RemoveAll(r.base, basedir.RestoringName(r.w.ID))
}

// gathered is the directory in which git's directory for the worktree is built.
// It must not lie among git's others before it is complete, because git reads
// them all.
func (r *restoration) gathered() string {
	return filepath.Join(r.w.GitDir, "middleman-"+basedir.RestoringName(r.w.ID)[1:])
}

// files builds the workspace's directory.
func (r *restoration) files(ctx context.Context, tell func(string)) error {
	name := basedir.RestoringName(r.w.ID)
	if err := r.makeDir(name); err != nil {
		return err
	}
	r.undo = append(r.undo, func(context.Context) error { return basedir.RemoveAll(r.base, name) })
	root, err := r.base.OpenRoot(name)
	if err != nil {
		return err
	}
	defer root.Close()
	gitFile := r.snap.Entry != ""
	for _, f := range r.snap.Files {
		gitFile = gitFile && string(f.Path) != ".git"
	}
	if gitFile {
		line := "gitdir: " + filepath.Join(r.w.GitDir, "worktrees", r.snap.Entry) + "\n"
		if err := root.WriteFile(".git", []byte(line), 0o644); err != nil {
			return err
		}
	}
	return writeFiles(ctx, r.repo, root, r.snap.Files, tell)
}

// entry builds git's directory for the worktree, and then moves it to the
// others.
func (r *restoration) entry(ctx context.Context) error {
	gathered := r.gathered()
	if err := os.Mkdir(gathered, 0o700); err != nil {
		return err
	}
	at := gathered
	r.undo = append(r.undo, func(context.Context) error { return os.RemoveAll(at) })
	if err := r.gather(ctx, gathered); err != nil {
		return err
	}
	fault.Here("restore/gathered")
	target := filepath.Join(r.w.GitDir, "worktrees", r.snap.Entry)
	if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
		return err
	}
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", target, ErrOccupied)
	}
	if err := os.Rename(gathered, target); err != nil {
		return err
	}
	at = target
	return nil
}

// gather fills the directory dir, which it has closed at the end: Windows moves no open
// directory.
func (r *restoration) gather(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := writeFiles(ctx, r.repo, root, r.snap.State, silently); err != nil {
		return err
	}
	if err := r.lead(root); err != nil {
		return err
	}
	if err := r.rename(root); err != nil {
		return err
	}
	return root.WriteFile(restoredMark, []byte(r.w.Branch), 0o600)
}

// lead makes the files gitdir and commondir point to the workspace and to the
// repository. From the directory that commondir names, git reads the
// configuration, including the programs that it names.
func (r *restoration) lead(root *os.Root) error {
	for name, to := range map[string]string{"gitdir": filepath.Join(r.w.Root, ".git"), "commondir": r.w.GitDir} {
		// A relative path starts where the directory will be.
		now, err := git.ReadPath(filepath.Join(root.Name(), name), filepath.Join(r.w.GitDir, "worktrees", r.snap.Entry))
		if err == nil && (now == to || name == "commondir" && git.SameDir(now, to)) {
			continue
		}
		if err := root.RemoveAll(name); err != nil {
			return err
		}
		if name == "commondir" {
			to = filepath.Join("..", "..")
		}
		if err := root.WriteFile(name, []byte(to+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// rename writes the new names of branches into git's files.
func (r *restoration) rename(root *os.Root) error {
	for _, file := range []struct{ name, before string }{
		{"HEAD", "ref: refs/heads/"}, {"rebase-merge/head-name", "refs/heads/"}, {"rebase-apply/head-name", "refs/heads/"},
		{"BISECT_START", ""},
	} {
		content, err := root.ReadFile(filepath.FromSlash(file.name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		name, is := strings.CutPrefix(strings.TrimSuffix(string(content), "\n"), file.before)
		if now := r.renamed[name]; is && now != "" {
			if err := root.WriteFile(filepath.FromSlash(file.name), []byte(file.before+now+"\n"), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// newEntry makes git add a worktree, if the snapshot holds only the branch.
func (r *restoration) newEntry(ctx context.Context) error {
	if err := r.put(basedir.RestoringName(r.w.ID)); err != nil {
		return err
	}
	r.undoPlace()
	if err := basedir.Link(r.base, r.w.ID, basedir.Name(r.w)); err != nil {
		return err
	}
	way, err := git.TransportOf(ctx, r.repo, false)
	if err != nil {
		return err
	}
	_, err = way.Over(r.repo.Alter("worktree", "add", "--quiet", "--lock", "--reason", git.WorkspaceReason(r.w.ID),
		"--", r.addPath(), r.w.Branch)).Run(ctx)
	if err != nil {
		return err
	}
	return basedir.Unlink(r.base, r.w.ID)
}

// undoPlace adds to undo what takes the workspace's directory back, git's entry for
// it, and the link with which git made that.
func (r *restoration) undoPlace() {
	r.undo = append(r.undo,
		func(context.Context) error { return basedir.Unlink(r.base, r.w.ID) },
		func(context.Context) error { return git.RemoveEntry(r.w.GitDir, r.w.ID, r.w.Root) },
		func(context.Context) error { return basedir.RemoveAll(r.base, basedir.Name(r.w)) })
}

// addPath is the path by which git makes its entry.
func (r *restoration) addPath() string { return basedir.AddPath(r.base, r.w.ID, basedir.Name(r.w)) }

// letGo ends a restore: the workspace is complete, and the snapshot is dropped.
func (r *restoration) letGo(ctx context.Context, entry string) error {
	if r.commit != "" {
		if err := dropTrash(ctx, r.repo, r.w.ID, r.commit); err != nil {
			return err
		}
	}
	fault.Here("restore/let-go")
	if err := os.Remove(filepath.Join(entry, restoredMark)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// unkept returns a line for each file that does not come back.
func (r *restoration) unkept() []string {
	var lines []string
	for _, name := range r.snap.Unkept {
		lines = append(lines, "was not kept: "+plaintext.Quoted(name))
	}
	return lines
}
