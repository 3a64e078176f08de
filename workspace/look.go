package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// Inspect says what deleting w would destroy. Nothing of the repository runs
// meanwhile and nothing is written. An error means that this could not be
// found out and must be read as "do not delete"; it wraps ErrMissing where the
// directory is gone, and Loss is then what git still knows. Restorable and
// Unkept are what a delete with consent would keep.
func (m *Manager) Inspect(ctx context.Context, w Workspace) (_ Loss, err error) {
	defer model.Containing(w.Name, &err)
	if w.Mode == ModeInPlace {
		return Loss{}, nil
	}
	base, err := basedir.Holding(m.base, w)
	if err != nil {
		return Loss{}, fmt.Errorf("inspect workspace %s: %w", w.Name, err)
	}
	defer base.Close()
	dir, err := basedir.Find(base, w)
	if err != nil {
		return Loss{}, fmt.Errorf("inspect workspace %s: %w", w.Name, err)
	}
	seen, err := m.look(ctx, w, dir)
	if err != nil && !errors.Is(err, ErrMissing) {
		err = unkeepable(ctx, w, err)
	}
	if err != nil {
		return seen.loss, fmt.Errorf("inspect workspace %s: %w", w.Name, err)
	}
	loss, err := seen.forecast(w, dir)
	if err != nil {
		return loss, fmt.Errorf("inspect workspace %s: %w", w.Name, err)
	}
	return loss, nil
}

// findings is what a look at a workspace found.
type findings struct {
	loss Loss
	// tip is where our branch was, or "" where a delete leaves the branch: it
	// is gone, the user's, or checked out elsewhere.
	tip string
	// ignored is what git ignores, as it is called in the workspace, with a
	// slash at the end of a directory; repositories are those that lie in it.
	ignored, repositories []string
	// nested are git's directories for other worktrees of the repository that
	// lie in it.
	nested []string
}

// look inspects w, whose directory is now at dir, or nowhere if dir is "".
func (m *Manager) look(ctx context.Context, w Workspace, dir string) (findings, error) {
	switch {
	case w.Mode == ModeDirectory && dir == "":
		return findings{}, missing(w)
	case w.Mode == ModeDirectory:
		loss, err := lookAtFiles(dir)
		return findings{loss: loss}, err
	case w.Mode != ModeWorktree:
		return findings{}, fmt.Errorf("mode %q: %w", w.Mode, ErrUnknown)
	}
	l := &inspector{}
	tip, err := m.lookAtRepository(ctx, l, w, dir)
	if err == nil && dir == "" {
		err = fmt.Errorf("%s: %w", w.Root, ErrMissing)
		if l.known {
			err = missing(w)
		}
	}
	return findings{loss: l.loss, tip: tip, ignored: l.ignoredPaths, repositories: l.repositories, nested: l.nestedEntries}, err
}

// missing says that a directory is gone that nobody has told git to forget. It
// may be on a disk that is away, or moved: what is in it is not known.
func missing(w Workspace) error {
	return fmt.Errorf("%s: %w, and what was in it is not known: put it back, or forget it with consent to lose work: %w", w.Root, ErrMissing, ErrUnknown)
}

// lookAtFiles lists the files of a directory that no git knows.
func lookAtFiles(dir string) (Loss, error) {
	l := &inspector{}
	err := l.walk(dir, "")
	return l.loss, err
}

// walk adds every file below dir, whose path in the workspace is name. A
// repository in it is one entry.
func (l *inspector) walk(dir, name string) error {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() != ".git" {
			return nil
		}
		below, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if l.add(&l.loss.Untracked, name+filepath.ToSlash(below)); l.loss.Truncated && len(l.loss.Untracked) == model.MaxListed {
			return fs.SkipAll
		}
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list %s: %w: %w", dir, ErrUnknown, err)
	}
	return nil
}

// lookAtRepository looks at a worktree in the order: refs, files, history.
func (m *Manager) lookAtRepository(ctx context.Context, l *inspector, w Workspace, dir string) (tip string, err error) {
	entry, err := git.FindEntry(w.GitDir, w.Root)
	if err != nil {
		return "", err
	}
	if tip, err = m.ownTip(ctx, w); err != nil {
		return "", err
	}
	at := git.Dirs{GitDir: entry, CommonDir: w.GitDir, WorkTree: dir}
	l.known = entry != ""
	if entry != "" {
		if err := checkCommonDir(entry, w.GitDir); err != nil {
			return tip, err
		}
	}
	switch {
	case entry == "" && dir != "":
		return tip, fmt.Errorf("%s: its repository %s has no worktree there: %w", w.Root, w.GitDir, ErrUnknown)
	case entry == "":
		at.GitDir = w.GitDir // only the branch is left to look at
		l.loss.Kept = movedAway(w, tip)
	case dir == "":
		err = l.stagedFiles(ctx, at)
	default:
		if err = checkGitFile(dir, entry); err == nil {
			err = l.nestedWorktrees(ctx, at, w.Root, dir)
		}
		if err == nil {
			err = l.checkedOut(ctx, at)
		}
	}
	if err != nil {
		return tip, err
	}
	if entry != "" {
		l.operation(at)
		if err := l.submodules(ctx, entry); err != nil {
			return tip, err
		}
	}
	if err := l.stashes(ctx, at, w.Branch); err != nil {
		return tip, err
	}
	if err := l.commits(ctx, at, tip, w, entry != ""); err != nil || entry == "" {
		return tip, err
	}
	return tip, l.abandoned(ctx, at)
}

// ownTip is where the branch is that a delete of w would remove.
func (m *Manager) ownTip(ctx context.Context, w Workspace) (string, error) {
	repo := git.Whole(w.GitDir)
	if !m.ownsBranch(w) {
		return "", nil
	}
	trees, err := repo.Worktrees(ctx)
	if err != nil {
		return "", err
	}
	for _, tree := range trees {
		if tree.Branch == "refs/heads/"+w.Branch && tree.Path != w.Root {
			return "", nil
		}
	}
	return repo.Ref(ctx, "refs/heads/"+w.Branch)
}

// checkGitFile makes sure that the worktree at dir is still the one that
// entry is about: a program in it may have made a repository of its own there.
func checkGitFile(dir, entry string) error {
	target, err := git.ReadPath(filepath.Join(dir, ".git"), dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if !git.SameDir(target, entry) {
		return fmt.Errorf("%s leads to %s, not to %s: %w", filepath.Join(dir, ".git"), plaintext.Quoted(target), entry, ErrUnknown)
	}
	return nil
}

// checkCommonDir makes sure that the worktree's refs are those of its
// repository: git follows commondir to them, whatever GIT_COMMON_DIR says, and
// elsewhere could be branches that make work look kept.
func checkCommonDir(entry, commonDir string) error {
	target, err := git.ReadPath(filepath.Join(entry, "commondir"), entry)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if !git.SameDir(target, commonDir) {
		return fmt.Errorf("%s leads to %s, not to %s: %w", filepath.Join(entry, "commondir"), plaintext.Quoted(target), commonDir, ErrUnknown)
	}
	return nil
}

// inspector gathers a loss.
type inspector struct {
	loss   Loss
	nested map[string]bool // worktrees that are on the list already, by their paths with a slash
	known  bool            // git has an entry for the workspace
	walked int             // entries in what git ignores

	ignoredPaths, repositories, nestedEntries []string // see findings
}

// add puts a name of a file, commit or stash on a list.
func (l *inspector) add(list *[]string, name string) {
	if len(*list) == model.MaxListed {
		l.loss.Truncated = true
		return
	}
	*list = append(*list, plaintext.Quoted(name))
}

// checkedOut adds what differs from HEAD in a worktree, which a creation may
// not have filled yet: git writes the index when all files are there.
func (l *inspector) checkedOut(ctx context.Context, p git.Dirs) error {
	_, err := os.Lstat(filepath.Join(p.GitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return l.unfinished(ctx, p)
	}
	if err != nil {
		return err
	}
	return l.files(ctx, p, "")
}

// files adds what differs from HEAD in the checkout at p; name is its path in
// the workspace, "" for the workspace itself.
func (l *inspector) files(ctx context.Context, p git.Dirs, name string) error {
	config, err := p.WithoutFilters(ctx)
	if err != nil {
		return err
	}
	// git would go into submodules with their own configuration, and run what
	// that says. It reports whether their commit changed; their files are
	// looked at below, as pinned as these.
	c := p.Look("status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z", "--untracked-files=all",
		"--ignored=matching", "--no-renames", "--ignore-submodules=dirty")
	c.Config = config
	var ignoredErr error
	answered := false
	c.Each = func(record string) {
		switch {
		case strings.HasPrefix(record, "# branch.oid "):
			answered = true
		case strings.HasPrefix(record, "? ") && strings.HasSuffix(record, "/"):
			l.repository(name + record[2:]) // all that git does not go into
		case strings.HasPrefix(record, "! ") && ignoredErr == nil:
			ignoredErr = l.ignored(ctx, p, record[2:], name)
		case strings.HasPrefix(record, "? "):
			l.add(&l.loss.Untracked, name+record[2:])
		case strings.HasPrefix(record, "1 "):
			l.add(&l.loss.Changed, name+field(record, 8))
		case strings.HasPrefix(record, "u "):
			l.add(&l.loss.Changed, name+field(record, 10))
		}
	}
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	if !answered {
		return c.Silent()
	}
	if ignoredErr != nil {
		return ignoredErr
	}
	inner, err := l.indexed(ctx, p, name)
	if err != nil {
		return err
	}
	for _, path := range inner {
		if err := l.submodule(ctx, p, path, name); err != nil {
			return err
		}
	}
	return nil
}

// field is what follows the first n space-separated fields of a record.
func field(record string, n int) string {
	for range n {
		_, record, _ = strings.Cut(record, " ")
	}
	return record
}

// stagedFiles adds what the index of a worktree without a directory holds
// beyond HEAD.
func (l *inspector) stagedFiles(ctx context.Context, p git.Dirs) error {
	head, err := headOf(ctx, p)
	if err != nil || head == "" {
		return err
	}
	c := p.Look("diff-index", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", head)
	c.Each = func(record string) { l.add(&l.loss.Changed, record) }
	_, err = c.Run(ctx)
	return err
}

// operation notes what git is in the middle of.
func (l *inspector) operation(p git.Dirs) {
	for _, trace := range []struct{ file, name string }{
		{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"sequencer", "cherry-pick or revert"},
		{"BISECT_LOG", "bisect"},
	} {
		// Anything but a clear "no" counts as one in progress.
		if _, err := os.Lstat(filepath.Join(p.GitDir, trace.file)); !errors.Is(err, fs.ErrNotExist) && l.loss.Operation == "" {
			l.loss.Operation = trace.name
		}
	}
}

// headOf is the commit that is checked out, or "" on a branch without one.
func headOf(ctx context.Context, p git.Dirs) (string, error) {
	head, err := p.Look("rev-parse", "--verify", "--quiet", "HEAD^{commit}").Line(ctx)
	if git.ExitCode(err) == 1 {
		return "", nil
	}
	if err == nil && head == "" {
		err = p.Look("rev-parse").Silent()
	}
	return head, err
}

// commits adds those of our branch and of the checkout's HEAD that are on no
// other branch and no remote.
func (l *inspector) commits(ctx context.Context, p git.Dirs, tip string, w Workspace, checkout bool) error {
	var from []string
	if tip != "" {
		from = append(from, tip)
	}
	if checkout {
		head, err := headOf(ctx, p)
		if err != nil {
			return err
		}
		if head != "" {
			from = append(from, head)
		}
	}
	if len(from) == 0 {
		return nil
	}
	args := append(from, "--not", "--remotes")
	if model.IsChange(w.Base) && w.BaseCommit != "" {
		args = append([]string{"--ignore-missing"}, append(args, w.BaseCommit)...) // the forge has it
	}
	if tip != "" {
		args = append(args, "--exclude="+w.Branch) // or it would count as another branch
	}
	return l.history(ctx, p, &l.loss.Commits, append(args, "--branches"), "%h %s")
}

// stashes adds those that were made on branch. All worktrees share one list.
func (l *inspector) stashes(ctx context.Context, p git.Dirs, branch string) error {
	top, err := git.Whole(p.CommonDir).Ref(ctx, "refs/stash")
	if err != nil || top == "" {
		return err
	}
	c := git.Whole(p.CommonDir).Look("rev-list", "--walk-reflogs", "--no-commit-header", "--format=%s", "refs/stash")
	c.Lines = true
	n := 0
	c.Each = func(message string) {
		if strings.HasPrefix(message, "WIP on "+branch+": ") || strings.HasPrefix(message, "On "+branch+": ") {
			l.add(&l.loss.Stashed, fmt.Sprintf("stash@{%d}: %s", n, message))
		}
		n++
	}
	_, err = c.Run(ctx)
	return err
}

// history adds the commits that rev-list gives for args, a line each.
func (l *inspector) history(ctx context.Context, p git.Dirs, list *[]string, args []string, format string) error {
	c := p.Look(append([]string{"rev-list", "--no-commit-header", "--format=" + format,
		fmt.Sprintf("--max-count=%d", model.MaxListed+1)}, args...)...)
	c.Lines = true
	c.Each = func(record string) { l.add(list, record) }
	_, err := c.Run(ctx)
	return err
}
