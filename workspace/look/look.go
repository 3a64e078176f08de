package look

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
	"middleman/workspace/model"
)

// Findings is what a look at a workspace found.
type Findings struct {
	Loss model.Loss
	// Tip is where our branch was, or "" where a delete leaves the branch: it
	// is gone, the user's, or checked out elsewhere.
	Tip string
	// Ignored is what git ignores, as it is called in the workspace, with a
	// slash at the end of a directory; Repositories are those that lie in it.
	Ignored, Repositories []string
	// Nested are git's directories for other worktrees of the repository that
	// lie in it.
	Nested []string
}

// ForDelete says what a delete of w would destroy, whose directory is now at
// dir, or nowhere if dir is "". ours says that the branch of w is ours to delete.
// Nothing of the repository runs meanwhile and nothing is written. An error means
// that not all could be found out: what was found is in Findings.
func ForDelete(ctx context.Context, w model.Workspace, dir string, ours bool) (Findings, error) {
	switch {
	case w.Mode == model.ModeDirectory && dir == "":
		return Findings{}, missing(w)
	case w.Mode == model.ModeDirectory:
		loss, err := Directory(dir)
		return Findings{Loss: loss}, err
	case w.Mode != model.ModeWorktree:
		return Findings{}, fmt.Errorf("mode %q: %w", w.Mode, model.ErrUnknown)
	}
	l := &collector{}
	tip, err := l.repositoryOf(ctx, w, dir, ours)
	if err == nil && dir == "" {
		err = fmt.Errorf("%s: %w", w.Root, model.ErrMissing)
		if l.known {
			err = missing(w)
		}
	}
	return Findings{Loss: l.loss, Tip: tip, Ignored: l.ignoredPaths, Repositories: l.repositories, Nested: l.nestedEntries}, err
}

// Branch says what would be lost with branch, which is at tip and checked out
// nowhere.
func Branch(ctx context.Context, repo git.Dirs, branch, tip string) (model.Loss, error) {
	l := &collector{}
	err := l.stashes(ctx, repo, branch)
	if err == nil {
		err = l.commits(ctx, repo, tip, model.Workspace{Branch: branch}, false)
	}
	return l.loss, err
}

// missing says that a directory is gone that nobody has told git to forget. It
// may be on a disk that is away, or moved: what is in it is not known.
func missing(w model.Workspace) error {
	return fmt.Errorf("%s: %w, and what was in it is not known: put it back, or forget it with consent to lose work: %w", w.Root, model.ErrMissing, model.ErrUnknown)
}

// Directory lists the files of a directory that no git knows.
func Directory(dir string) (model.Loss, error) {
	l := &collector{}
	err := l.walk(dir, "")
	return l.loss, err
}

// walk adds every file below dir, whose path in the workspace is name. A
// repository in it is one entry.
func (l *collector) walk(dir, name string) error {
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
		return fmt.Errorf("list %s: %w: %w", dir, model.ErrUnknown, err)
	}
	return nil
}

// repositoryOf looks at a worktree in the order: refs, files, history.
func (l *collector) repositoryOf(ctx context.Context, w model.Workspace, dir string, ours bool) (tip string, err error) {
	entry, err := git.FindEntry(w.GitDir, w.Root)
	if err != nil {
		return "", err
	}
	if tip, err = ownTip(ctx, w, ours); err != nil {
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
		return tip, fmt.Errorf("%s: its repository %s has no worktree there: %w", w.Root, w.GitDir, model.ErrUnknown)
	case entry == "":
		at.GitDir = w.GitDir // only the branch is left to look at
		l.loss.Warnings = movedAway(w, tip)
	case dir == "":
		err = l.stagedFiles(ctx, at)
	default:
		if err = CheckGitFile(dir, entry); err == nil {
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
func ownTip(ctx context.Context, w model.Workspace, ours bool) (string, error) {
	repo := git.Whole(w.GitDir)
	if !ours {
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

// CheckGitFile makes sure that the worktree at dir is still the one that
// entry is about: a program in it may have made a repository of its own there.
func CheckGitFile(dir, entry string) error {
	target, err := git.ReadPath(filepath.Join(dir, ".git"), dir)
	if err != nil {
		return fmt.Errorf("%w: %w", model.ErrUnknown, err)
	}
	if !git.SameDir(target, entry) {
		return fmt.Errorf("%s leads to %s, not to %s: %w", filepath.Join(dir, ".git"), plaintext.Quoted(target), entry, model.ErrUnknown)
	}
	return nil
}

// checkCommonDir makes sure that the worktree's refs are those of its
// repository: git follows commondir to them, whatever GIT_COMMON_DIR says, and
// elsewhere could be branches that make work look kept.
func checkCommonDir(entry, commonDir string) error {
	target, err := git.ReadPath(filepath.Join(entry, "commondir"), entry)
	if err != nil {
		return fmt.Errorf("%w: %w", model.ErrUnknown, err)
	}
	if !git.SameDir(target, commonDir) {
		return fmt.Errorf("%s leads to %s, not to %s: %w", filepath.Join(entry, "commondir"), plaintext.Quoted(target), commonDir, model.ErrUnknown)
	}
	return nil
}

// collector gathers a loss.
type collector struct {
	loss   model.Loss
	nested map[string]bool // worktrees that are on the list already, by their paths with a slash
	known  bool            // git has an entry for the workspace
	walked int             // entries in what git ignores

	ignoredPaths, repositories, nestedEntries []string // see Findings
}

// add puts a name of a file, commit or stash on a list.
func (l *collector) add(list *[]string, name string) {
	if len(*list) == model.MaxListed {
		l.loss.Truncated = true
		return
	}
	*list = append(*list, plaintext.Quoted(name))
}

// checkedOut adds what differs from HEAD in a worktree, which a creation may
// not have filled yet: git writes the index when all files are there.
func (l *collector) checkedOut(ctx context.Context, p git.Dirs) error {
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
func (l *collector) files(ctx context.Context, p git.Dirs, name string) error {
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
func (l *collector) stagedFiles(ctx context.Context, p git.Dirs) error {
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
func (l *collector) operation(p git.Dirs) {
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
func (l *collector) commits(ctx context.Context, p git.Dirs, tip string, w model.Workspace, checkout bool) error {
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
func (l *collector) stashes(ctx context.Context, p git.Dirs, branch string) error {
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
func (l *collector) history(ctx context.Context, p git.Dirs, list *[]string, args []string, format string) error {
	c := p.Look(append([]string{"rev-list", "--no-commit-header", "--format=" + format,
		fmt.Sprintf("--max-count=%d", model.MaxListed+1)}, args...)...)
	c.Lines = true
	c.Each = func(record string) { l.add(list, record) }
	_, err := c.Run(ctx)
	return err
}

// Unkeepable is err, of a look at w, with what would stop a delete with
// consent as well, if that is known already: it keeps what it destroys, and
// for that git has to answer.
func Unkeepable(ctx context.Context, w model.Workspace, err error) error {
	if w.Mode != model.ModeWorktree || ctx.Err() != nil {
		return err
	}
	entry, entryErr := git.FindEntry(w.GitDir, w.Root)
	if entryErr != nil || entry == "" {
		return err // the directory itself would be kept
	}
	why := answers(ctx, git.Dirs{GitDir: entry, CommonDir: w.GitDir})
	if why == nil {
		return err
	}
	return fmt.Errorf("%w (and %w: %w)", err, model.ErrNotKept, why)
}

// answers reports why git cannot keep what is at p, as far as it takes no
// writing to find out.
func answers(ctx context.Context, p git.Dirs) error {
	c := p.Look("hash-object", "--stdin")
	object, err := c.Line(ctx)
	if err == nil && !git.IsObjectID(object) {
		err = c.Odd(object)
	}
	if err != nil {
		return err
	}
	if _, err := p.Look("symbolic-ref", "--quiet", "HEAD").Line(ctx); git.ExitCode(err) != 1 { // 1: detached
		return err
	}
	return nil
}

// movedAway says where the worktree of w is by now, if the user took it
// somewhere else with git: then it is theirs. git's entry keeps its name, which
// is our id. tip is where the branch is if that is to go nevertheless.
func movedAway(w model.Workspace, tip string) []string {
	entry := filepath.Join(w.GitDir, "worktrees", w.ID)
	target, err := git.ReadPath(filepath.Join(entry, "gitdir"), entry)
	if err != nil || filepath.Dir(target) == w.Root {
		return nil
	}
	kept := []string{"the worktree was moved to " + plaintext.Quoted(filepath.Dir(target)) + ": it stays there"}
	if tip == "" {
		kept = append(kept, "branch "+plaintext.Quoted(w.Branch)+" stays")
	}
	return kept
}
