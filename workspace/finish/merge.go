package finish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// Errors that a caller can branch on.
var (
	// ErrUncommitted: the workspace has changes that no commit has. The error
	// is a *FilesError.
	ErrUncommitted = errors.New("has changes that are not committed")
	// ErrConflict: both sides changed the same lines. The error is a
	// *FilesError.
	ErrConflict = errors.New("conflicts")
	// ErrInUse: the branch is checked out somewhere, and that checkout cannot
	// be brought forward.
	ErrInUse = errors.New("is in use")
	// ErrMoved: a commit was made meanwhile.
	ErrMoved = errors.New("moved meanwhile")
)

// Strategy says what a merge makes of the workspace's commits.
type Strategy string

// The values of Strategy.
const (
	StrategyMerge  Strategy = "merge"  // they stay as they are; a merge commit joins both sides if there are two
	StrategyRebase Strategy = "rebase" // copies of them follow the base
	StrategySquash Strategy = "squash" // one commit has all that they change
)

const (
	mergeTime  = 2 * time.Minute // for one merge of two commits
	maxRebased = 1000            // commits
	maxNamed   = 10              // files that a message names
	maxTries   = 5               // of a merge into a branch that others move
)

// MergeRequest says what to merge, and how.
type MergeRequest struct {
	Into     string   // a local branch; "" is the workspace's base
	Strategy Strategy // "" is StrategyMerge
	Message  string   // of the commit that is made; "" is one that names the branch
	Head     string   // merge only if the workspace is at this commit; "" is any
	// Filters allows the filters that the repository's own configuration names,
	// and its programs to reach a remote, to run where the branch is checked out.
	// In the workspace the filters run as well if without them it has changes.
	Filters bool
	DryRun  bool // make everything but move no branch
}

// Merged says what a merge has done, or would do.
type Merged struct {
	Branch      string   `json:"branch" doc:"The branch that was merged"`
	Into        string   `json:"into" doc:"The branch that it was merged into"`
	Strategy    Strategy `json:"strategy" enum:"merge,rebase,squash"`
	Head        string   `json:"head" doc:"The commit of the workspace"`
	Before      string   `json:"before" doc:"The commit that the other branch was at"`
	After       string   `json:"after" doc:"The commit that it is at now; of a dry run, the commit that it would be at, or one with the same content"`
	Commits     int      `json:"commits" doc:"How many commits of the workspace the other branch did not have; 0 if there was nothing to merge"`
	FastForward bool     `json:"fast_forward" doc:"No commit had to be made"`
	Checkout    string   `json:"checkout,omitempty" doc:"The directory that has the other branch checked out, and has the merged files now"`
}

// FilesError is an error about files.
type FilesError struct {
	What  string   // what was tried on what
	Err   error    // ErrUncommitted, ErrConflict or ErrInUse
	Files []string // all of them, quoted where a terminal needs it
	Hint  string   // what to do
}

// Error names some of the files.
func (e *FilesError) Error() string {
	return fmt.Sprintf("%s %v: %s: %s", e.What, e.Err, some(e.Files), e.Hint)
}

// some names the first of a list of files, and how many more there are.
func some(files []string) string {
	if n := len(files) - maxNamed; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(files[:maxNamed], ", "), n)
	}
	return strings.Join(files, ", ")
}

// Unwrap returns Err.
func (e *FilesError) Unwrap() error { return e.Err }

// Finisher merges and pushes. It holds no state of its own.
type Finisher struct{ Inspector *look.Inspector }

// Merge merges the commits of w. It refuses a workspace with changes that are
// not committed. If the branch moves meanwhile it merges again.
func (f Finisher) Merge(ctx context.Context, w model.Workspace, r MergeRequest) (out Merged, err error) {
	defer model.Containing(w.Name, &err)
	if r.Strategy == "" {
		r.Strategy = StrategyMerge
	}
	switch {
	case w.Mode != model.ModeWorktree:
		return out, fmt.Errorf("workspace %s is not a worktree of ours: use git in %s: %w", w.Name, plaintext.Quoted(w.Root), model.ErrBadRequest)
	case r.Strategy != StrategyMerge && r.Strategy != StrategyRebase && r.Strategy != StrategySquash:
		return out, fmt.Errorf("strategy %q: it must be merge, rebase or squash: %w", r.Strategy, model.ErrBadRequest)
	case strings.ContainsRune(r.Message, 0):
		return out, fmt.Errorf("the message has a NUL in it: %w", model.ErrBadRequest)
	}
	for range maxTries {
		m := &merge{w: w, r: r, inspector: f.Inspector, repo: git.Whole(w.GitDir)}
		landed, err := m.run(ctx)
		if err != nil || landed {
			return m.out, err
		}
	}
	return out, fmt.Errorf("merge workspace %s: the branch moved %d times while it was merged: try again: %w", w.Name, maxTries, ErrMoved)
}

// merge is one try of Merge.
type merge struct {
	w         model.Workspace
	r         MergeRequest
	inspector *look.Inspector
	repo      git.Dirs
	tip       look.Tip
	view      *git.View
	out       Merged
}

// run reports false if the branch moved meanwhile.
func (m *merge) run(ctx context.Context) (landed bool, err error) {
	if m.tip, err = m.inspector.Tip(ctx, m.w); err != nil {
		return false, err
	}
	m.view = m.tip.View
	defer m.view.Close()
	if m.r.Filters && len(m.tip.Uncommitted) > 0 {
		if m.tip.Uncommitted, err = m.uncommitted(ctx, m.tip.Dirs); err != nil {
			return false, fmt.Errorf("look at workspace %s: %w", m.w.Name, err)
		}
	}
	if err := m.checkTip(); err != nil {
		return false, err
	}
	if err := m.findBase(ctx); err != nil {
		return false, fmt.Errorf("merge workspace %s: %w", m.w.Name, err)
	}
	if err := m.make(ctx); err != nil {
		if _, is := errors.AsType[*FilesError](err); !is {
			err = fmt.Errorf("merge workspace %s into %s: %w", m.w.Name, m.out.Into, err)
		}
		return false, err
	}
	if m.out.Commits == 0 {
		return true, nil
	}
	return m.land(ctx)
}

// checkTip refuses a workspace whose commits are not all that it has.
func (m *merge) checkTip() error {
	root, name := plaintext.Quoted(m.w.Root), m.w.Name
	switch {
	case m.tip.Operation != "":
		return fmt.Errorf("workspace %s: a %s is in progress: finish or abort it in %s: %w", name, m.tip.Operation, root, model.ErrBadRequest)
	case m.tip.Branch == "":
		return fmt.Errorf("workspace %s has no branch checked out: `git switch` to one in %s: %w", name, root, model.ErrBadRequest)
	case len(m.tip.Uncommitted) > 0:
		return &FilesError{What: "workspace " + name, Err: ErrUncommitted, Files: quoted(slices.Sorted(maps.Keys(m.tip.Uncommitted))),
			Hint: fmt.Sprintf("commit them (git -C %s add -A && git -C %s commit), or stash them, then try again", root, root)}
	case m.r.Head != "" && m.r.Head != m.tip.Head:
		return fmt.Errorf("workspace %s: a commit was made while the check ran, so the check does not count for it: try again: %w", name, ErrMoved)
	}
	m.out.Branch, m.out.Head, m.out.Strategy = m.tip.Branch, m.tip.Head, m.r.Strategy
	return nil
}

// findBase finds the branch to merge into, and its commit. For a base such as
// origin/main that is the local branch main.
func (m *merge) findBase(ctx context.Context) error {
	base := m.w.Base
	candidates := []string{base}
	if _, local, ok := strings.Cut(base, "/"); ok {
		candidates = append(candidates, local)
	}
	if m.r.Into != "" {
		base, candidates = m.r.Into, []string{m.r.Into}
	}
	for _, name := range candidates {
		if name == "" || model.IsChange(base) {
			continue
		}
		commit, err := m.repo.Ref(ctx, "refs/heads/"+name)
		if err != nil {
			return err
		}
		if commit == "" {
			continue
		}
		m.out.Into, m.out.Before = name, commit
		return m.checkBase(ctx)
	}
	what := plaintext.Quoted(base) + " is no local branch"
	if base == "" {
		what = "it has no base"
	}
	return fmt.Errorf("%s: name a branch with --into: %w", what, model.ErrBadBase)
}

// checkBase refuses a base that is the workspace's own branch, or another name of
// a branch.
func (m *merge) checkBase(ctx context.Context) error {
	if m.out.Into == m.tip.Branch {
		return fmt.Errorf("it has branch %s itself checked out: there is nothing to merge: %w", plaintext.Quoted(m.out.Into), model.ErrBadBase)
	}
	target, err := m.repo.Look("symbolic-ref", "--quiet", m.ref()).Line(ctx)
	if git.ExitCode(err) == 1 { // it is a branch of its own
		return nil
	}
	if err == nil {
		err = fmt.Errorf("branch %s is another name of %s: merge into that: %w", plaintext.Quoted(m.out.Into), plaintext.Quoted(target), model.ErrBadBase)
	}
	return err
}

// ref is the full name of the branch to merge into.
func (m *merge) ref() string { return "refs/heads/" + m.out.Into }

// make makes the commit that the branch will be at, in the view.
func (m *merge) make(ctx context.Context) error {
	out := &m.out
	count, err := m.view.Look("rev-list", "--count", out.Before+".."+out.Head, "--").Line(ctx)
	if err == nil {
		out.Commits, err = strconv.Atoi(count)
	}
	if err != nil || out.Commits == 0 {
		out.After, out.FastForward = out.Before, true
		return err
	}
	fork, err := m.view.Look("merge-base", out.Before, out.Head).Line(ctx)
	if git.ExitCode(err) == 1 {
		return fmt.Errorf("they have no commit in common: %w", model.ErrBadRequest)
	}
	if err != nil {
		return err
	}
	out.FastForward = fork == out.Before && m.r.Strategy != StrategySquash
	switch {
	case out.FastForward:
		out.After = out.Head
	case m.r.Strategy == StrategyRebase:
		out.After, err = m.rebase(ctx)
	default:
		out.After, err = m.join(ctx)
	}
	if err == nil && out.After == out.Before {
		out.Commits = 0 // the branch has all that they change already
	}
	return err
}

// join makes the merge commit, or the squashed one.
func (m *merge) join(ctx context.Context) (string, error) {
	who, err := m.identities(ctx)
	if err != nil {
		return "", err
	}
	tree, err := m.mergeTree(ctx, m.out.Before, m.out.Head, "merge")
	if err != nil {
		return "", err
	}
	c := commit{tree: tree, parents: []string{m.out.Before, m.out.Head}, author: who.author, committer: who.committer}
	if m.r.Strategy == StrategySquash {
		c.parents = c.parents[:1]
		if empty, err := m.sameTree(ctx, m.out.Before, tree); err != nil || empty {
			return m.out.Before, err
		}
		if m.out.Commits == 1 {
			only, err := m.read(ctx, m.out.Head)
			if err != nil {
				return "", err
			}
			c.author, c.headers, c.message = only.author, only.headers, only.message
		}
	}
	switch {
	case m.r.Message != "":
		c.message, c.headers = strings.TrimRight(m.r.Message, "\n")+"\n", nil
	case len(c.parents) > 1:
		c.message = fmt.Sprintf("Merge branch '%s' into %s\n", m.out.Branch, m.out.Into)
	case c.message == "":
		if c.message, err = m.subjects(ctx); err != nil {
			return "", err
		}
	}
	return m.store(ctx, c)
}

// subjects is the message of several commits in one.
func (m *merge) subjects(ctx context.Context) (string, error) {
	const most = 200 // commits that are named
	text := fmt.Sprintf("Squash branch '%s'\n\n", m.out.Branch)
	list := m.view.Look("log", "-z", "--reverse", "--no-show-signature", "--no-color", "--no-decorate", "--no-notes", "--encoding=UTF-8", "--no-patch", "--no-merges",
		"--format=%<(1000,trunc)%s", fmt.Sprintf("--max-count=%d", most), m.out.Before+".."+m.out.Head, "--")
	list.Each = func(subject string) { text += "* " + strings.TrimRight(subject, " \n") + "\n" }
	_, err := list.Run(ctx)
	return text, err
}

// mergeTree merges two commits and returns the tree. The error names the files in
// conflict, and verb is what the user can do in the workspace to resolve them.
func (m *merge) mergeTree(ctx context.Context, ours, theirs, verb string) (string, error) {
	c := m.view.Look("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
	c.Limit = mergeTime
	tree := ""
	var files []string
	c.Each = func(record string) { // the tree, then the files in conflict
		switch {
		case tree == "":
			tree = record
		case record != "":
			files = append(files, record)
		}
	}
	_, err := c.Run(ctx)
	switch {
	case err == nil && !git.IsObjectID(tree):
		return "", c.Odd(tree)
	case git.ExitCode(err) == 1 && len(files) > 0:
		root := plaintext.Quoted(m.w.Root)
		return "", &FilesError{What: fmt.Sprintf("workspace %s and %s have", m.w.Name, plaintext.Quoted(m.out.Into)), Err: ErrConflict, Files: quoted(files),
			Hint: fmt.Sprintf("nothing was changed; resolve them in the workspace (git -C %s %s %s), commit, then try again", root, verb, plaintext.Quoted(m.out.Into))}
	case git.ExitCode(err) == 129:
		return "", fmt.Errorf("git is too old to merge without a checkout: version 2.38 is needed: %w", errors.ErrUnsupported)
	}
	return tree, err
}

// quoted quotes the names of files for display.
func quoted(files []string) []string {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = plaintext.Quoted(file)
	}
	return names
}
