package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"middleman/internal/contain"
	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// Findings are the results of ForDelete.
type Findings struct {
	Loss model.Loss
	// Tip is the commit of our branch. It is "" if a delete leaves the branch,
	// because it is gone, the user's, or checked out elsewhere.
	Tip string
	// Ignored are the paths that git ignores; a directory's ends with a slash.
	// Repositories are the repositories that lie in the workspace.
	Ignored, Repositories []string
	// Nested are git's directories for other worktrees of the repository that
	// lie in the workspace.
	Nested []string
}

// ForDelete returns what a delete of w would destroy. The directory of w is now
// at dir, or missing if dir is "". ours says that we may delete its branch. It
// runs no program of the repository and writes nothing. After an error Findings
// is incomplete.
func ForDelete(ctx context.Context, w model.Workspace, dir string, ours bool) (Findings, error) {
	switch {
	case w.Mode == model.ModeDirectory && dir == "":
		return Findings{}, missing(w)
	case w.Mode == model.ModeDirectory:
		l := &collector{root: w.Root, dir: dir}
		err := l.walk(dir, "")
		return Findings{Loss: l.loss}, err
	case w.Mode != model.ModeWorktree:
		return Findings{}, fmt.Errorf("mode %q: %w", w.Mode, model.ErrUnknown)
	}
	l := &collector{root: w.Root, dir: dir}
	tip, err := l.repositoryOf(ctx, w, dir, ours)
	if err == nil && dir == "" {
		err = fmt.Errorf("%s: %w", w.Root, model.ErrMissing)
		if l.known {
			err = missing(w)
		}
	}
	return Findings{Loss: l.loss, Tip: tip, Ignored: l.ignoredPaths, Repositories: l.repositories, Nested: l.nestedEntries}, err
}

// Branch returns what would be lost with branch, which is at tip and checked
// out nowhere.
func Branch(ctx context.Context, repo git.Dirs, branch, tip string) (model.Loss, error) {
	l := &collector{}
	err := l.stashes(ctx, repo, branch)
	if err == nil {
		err = l.commits(ctx, repo, model.Workspace{Branch: branch}, tip, "")
	}
	return l.loss, err
}

// missing returns the error for a directory that is gone while git still has
// its entry. Its disk may not be mounted, or it was moved, so its content is
// unknown.
func missing(w model.Workspace) error {
	return fmt.Errorf("%s: %w, and it is not known what was in it: put it back, or delete the workspace with consent to lose work: %w", w.Root, model.ErrMissing, model.ErrUnknown)
}

// repositoryOf inspects a worktree in this order: refs, files, history.
func (l *collector) repositoryOf(ctx context.Context, w model.Workspace, dir string, ours bool) (tip string, err error) {
	entry, err := git.FindEntry(w.GitDir, w.ID, w.Root)
	if err != nil {
		return "", err
	}
	trees, tip, err := refsOf(ctx, w, ours, ours || entry != "" && dir != "")
	if err != nil {
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
		at.GitDir = w.GitDir // only the branch is left to inspect
		l.loss.Warnings = movedAway(w, tip)
	case dir == "":
		err = l.stagedFiles(ctx, at)
	default:
		if err = CheckGitFile(dir, entry); err == nil {
			err = l.nestedWorktrees(at, trees, w.Root, dir)
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
	return tip, l.historyOf(ctx, at, w, tip, entry != "")
}

// historyOf adds stashes and commits. hasHead says that the worktree at p has a HEAD
// of its own. It reads HEAD and the stashes after the files: what was committed or
// stashed while these were read is found there.
func (l *collector) historyOf(ctx context.Context, p git.Dirs, w model.Workspace, tip string, hasHead bool) error {
	var head string
	err := contain.Together(
		func() (err error) {
			if hasHead {
				head, err = headOf(ctx, p)
			}
			return err
		},
		func() error { return l.stashes(ctx, p, w.Branch) },
	)
	switch {
	case err != nil:
		return err
	case !hasHead && tip == "":
		return nil // nothing goes with the worktree
	}
	branch := w.Branch
	if tip == "" {
		branch = "" // it stays
	}
	return contain.Together(
		func() error { return l.commits(ctx, p, w, tip, head) },
		func() error { return l.abandoned(ctx, p, head, branch) },
	)
}

// refsOf returns the worktrees of the repository, if listed, and with ours the commit
// of the branch that a delete of w would remove: "" if another worktree has it checked
// out.
func refsOf(ctx context.Context, w model.Workspace, ours, listed bool) (trees []git.Worktree, tip string, err error) {
	var tipErr error
	err = contain.Together(
		func() (err error) {
			if listed {
				trees, err = git.Whole(w.GitDir).Worktrees(ctx)
			}
			return err
		},
		func() error {
			if ours {
				tip, tipErr = git.Whole(w.GitDir).Ref(ctx, "refs/heads/"+w.Branch)
			}
			return nil
		},
	)
	if err != nil {
		return nil, "", err
	}
	elsewhere := func(t git.Worktree) bool { return t.Branch == "refs/heads/"+w.Branch && t.Path != w.Root }
	if slices.ContainsFunc(trees, elsewhere) {
		return trees, "", nil
	}
	return trees, tip, tipErr
}

// CheckGitFile checks that the .git file in dir still points to entry: a
// program in the worktree may have made a repository of its own there.
func CheckGitFile(dir, entry string) error {
	target, err := git.ReadPath(filepath.Join(dir, ".git"), dir)
	if err != nil {
		return model.Unknown(err)
	}
	if !git.SameDir(target, entry) {
		return fmt.Errorf("%s leads to %s, not to %s: %w", filepath.Join(dir, ".git"), plaintext.Quoted(target), entry, model.ErrUnknown)
	}
	return nil
}

// checkCommonDir checks that the worktree uses the refs of its repository. git
// finds refs through the file commondir, whatever GIT_COMMON_DIR says. Refs of
// another repository could make lost work look safe.
func checkCommonDir(entry, commonDir string) error {
	target, err := git.ReadPath(filepath.Join(entry, "commondir"), entry)
	if err != nil {
		return model.Unknown(err)
	}
	if !git.SameDir(target, commonDir) {
		return fmt.Errorf("%s leads to %s, not to %s: %w", filepath.Join(entry, "commondir"), plaintext.Quoted(target), commonDir, model.ErrUnknown)
	}
	return nil
}

// collector collects a Loss.
type collector struct {
	mu     sync.Mutex // guards loss where lists are read at the same time
	loss   model.Loss
	nested map[string]bool // paths of nested worktrees, each with a slash at its end
	known  bool            // git has an entry for the workspace
	root   string          // the workspace's directory, where it was before a delete moved it
	dir    string          // where it is now, or ""
	walked int             // visited entries among what git ignores

	ignoredPaths, repositories, nestedEntries []string // see Findings
}

// add appends the name of a file, commit or stash to a list, up to MaxListed.
func (l *collector) add(list *[]string, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(*list) == model.MaxListed {
		l.loss.Truncated = true
		return
	}
	*list = append(*list, plaintext.Quoted(name))
}

// checkedOut adds what differs from HEAD in a worktree. git writes the index
// last, so without an index the creation has not filled the worktree.
func (l *collector) checkedOut(ctx context.Context, p git.Dirs) error {
	_, err := os.Lstat(filepath.Join(p.GitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return l.unfinished(ctx, p)
	}
	if err != nil {
		return err
	}
	if err := checkNames(p.WorkTree); err != nil {
		return err
	}
	return l.files(ctx, p, "")
}

// files adds what differs from HEAD in the checkout at p. name is its path in
// the workspace with a slash at the end, or "" for the workspace itself.
func (l *collector) files(ctx context.Context, p git.Dirs, name string) error {
	config, err := p.WithoutFilters(ctx)
	if err != nil {
		return err
	}
	// git would enter submodules with their own configuration, and run programs
	// that it names. With "dirty" it only reports whether their commit changed.
	// We inspect their files below, with the same safe settings.
	c := p.Look("status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z", "--untracked-files=all",
		"--ignored=matching", "--no-renames", "--ignore-submodules=dirty")
	c.Config = config
	var nestedErr error
	answered := false
	var untracked folded
	c.Each = func(record string) {
		switch {
		case strings.HasPrefix(record, "# branch.oid "):
			answered = true
		case strings.HasPrefix(record, "? ") && strings.HasSuffix(record, "/"):
			at := filepath.Join(p.WorkTree, filepath.FromSlash(record[2:]))
			nestedErr = cmp.Or(nestedErr, l.repository(at, name+record[2:])) // git does not enter nested repositories
		case strings.HasPrefix(record, "! ") && nestedErr == nil:
			nestedErr = l.ignored(ctx, p, record[2:], name)
		case strings.HasPrefix(record, "? "):
			untracked.add(name + record[2:])
		case strings.HasPrefix(record, "1 "):
			l.add(&l.loss.Changed, name+field(record, 8))
		case strings.HasPrefix(record, "u "):
			l.add(&l.loss.Changed, name+field(record, 10))
		}
	}
	status := func() error {
		if _, err := c.Run(ctx); err != nil {
			return err
		}
		if !answered {
			return c.Silent()
		}
		return nestedErr
	}
	var inner, hidden []string
	if err := contain.Together(status, func() (err error) {
		inner, hidden, err = indexed(ctx, p)
		return err
	}); err != nil {
		return err
	}
	l.unfold(untracked)
	for _, path := range hidden {
		l.add(&l.loss.Changed, name+path)
	}
	for _, path := range inner {
		if err := l.submodule(ctx, p, path, name); err != nil {
			return err
		}
	}
	return nil
}

// field returns what follows the first n space-separated fields of a record.
func field(record string, n int) string {
	for range n {
		_, record, _ = strings.Cut(record, " ")
	}
	return record
}

// stagedFiles adds what the index differs in from HEAD, for a worktree without
// a directory.
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

// operation records which operation of git is in progress.
func (l *collector) operation(p git.Dirs) {
	if found := Operation(p); found != "" {
		l.loss.Operation = found
	}
}

// Operation returns which operation of git is in progress in the checkout at p,
// such as "rebase", or "".
func Operation(p git.Dirs) string {
	for _, trace := range []struct{ file, name string }{
		{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"sequencer", "cherry-pick or revert"},
		{"BISECT_LOG", "bisect"},
	} {
		// Any error but "not found" counts as in progress.
		if _, err := os.Lstat(filepath.Join(p.GitDir, trace.file)); !errors.Is(err, fs.ErrNotExist) {
			return trace.name
		}
	}
	return ""
}

// headOf returns the commit of HEAD, or "" on a branch without one.
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

// commits adds the commits of tip, of our branch, and of head, the checkout's,
// that are on no other branch and no remote. Each may be "".
func (l *collector) commits(ctx context.Context, p git.Dirs, w model.Workspace, tip, head string) error {
	from := slices.DeleteFunc([]string{tip, head}, func(commit string) bool { return commit == "" })
	if len(from) == 0 {
		return nil
	}
	args := append(slices.Clone(from), "--not", "--remotes")
	if model.IsChange(w.Base) && w.BaseCommit != "" {
		args = append([]string{"--ignore-missing"}, append(args, w.BaseCommit)...) // the forge has these
	}
	if tip != "" {
		args = append(args, "--exclude="+w.Branch) // else it would count as another branch
	}
	if err := l.history(ctx, p, &l.loss.Commits, append(args, "--branches"), "%h %s"); err != nil {
		return err
	}
	return l.merged(ctx, p, w, from)
}

// stashes adds the stashes that were made on branch. All worktrees share them.
func (l *collector) stashes(ctx context.Context, p git.Dirs, branch string) error {
	top, err := git.Whole(p.CommonDir).Ref(ctx, "refs/stash")
	if err != nil || top == "" {
		return err
	}
	c := git.Whole(p.CommonDir).Look("rev-list", "--walk-reflogs", "--no-commit-header", "--format=%s", "refs/stash", "--")
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

// history adds the commits that rev-list returns for args, one line each.
func (l *collector) history(ctx context.Context, p git.Dirs, list *[]string, args []string, format string) error {
	return l.historyFrom(ctx, p, list, nil, args, format)
}

// historyFrom is history with args that have --stdin: from are the revisions that git
// reads there. There may be more of them than fit into a command line.
func (l *collector) historyFrom(ctx context.Context, p git.Dirs, list *[]string, from, args []string, format string) error {
	c := p.Look(append([]string{"rev-list", "--no-commit-header", "--format=" + format,
		fmt.Sprintf("--max-count=%d", model.MaxListed+1)}, args...)...)
	c.Lines, c.Stdin = true, strings.NewReader(strings.Join(from, "\n")+"\n")
	c.Each = func(record string) { l.add(list, record) }
	_, err := c.Run(ctx)
	return err
}

// Unkeepable returns err, the error of inspecting w. If git cannot keep what a
// delete destroys either, it adds that: then a delete would fail even with
// consent.
func Unkeepable(ctx context.Context, w model.Workspace, err error) error {
	if w.Mode != model.ModeWorktree || ctx.Err() != nil {
		return err
	}
	entry, entryErr := git.FindEntry(w.GitDir, w.ID, w.Root)
	if entryErr != nil || entry == "" {
		return err // a delete would keep the directory itself
	}
	why := answers(ctx, git.Dirs{GitDir: entry, CommonDir: w.GitDir})
	if why == nil {
		return err
	}
	return fmt.Errorf("%w (and %w: %w)", err, model.ErrNotKept, why)
}

// answers returns why git cannot keep what is at p, as far as that shows
// without writing.
func answers(ctx context.Context, p git.Dirs) error {
	c := p.Look("hash-object", "--stdin")
	object, err := c.Line(ctx)
	if err == nil && !git.IsObjectID(object) {
		err = c.Odd(object)
	}
	if err != nil {
		return err
	}
	if _, err := p.Look("symbolic-ref", "--quiet", "HEAD").Line(ctx); git.ExitCode(err) != 1 { // status 1: HEAD is detached
		return err
	}
	return nil
}

// movedAway returns warnings if the user moved the worktree of w with git: then
// it stays, because it is the user's. git's entry keeps our id as its name. tip
// is the branch's commit if a delete still removes the branch.
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
