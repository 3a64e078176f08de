package finish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

const (
	lockTries = 20 // of a checkout in which another git works at the moment
	lockPause = 50 * time.Millisecond
)

// land moves the branch to the merged commit. It reports false if the branch is
// not at the commit any more that was merged with.
func (m *merge) land(ctx context.Context) (bool, error) {
	held, err := git.HoldBranches(ctx, m.w.GitDir)
	if err != nil {
		return false, err
	}
	defer held.Close() // closing nil only returns an error
	at, err := m.checkedOut(ctx)
	if err != nil {
		return false, err
	}
	if at != nil {
		m.out.Checkout = at.dirs.WorkTree
		if err := at.check(ctx, m); err != nil {
			return false, err
		}
	}
	if m.r.DryRun {
		return true, nil
	}
	if err := m.bringObjects(ctx); err != nil {
		return false, err
	}
	fault.Here("merge/made")
	// From here on nothing is cancelled: git would leave half of the files.
	ctx = context.WithoutCancel(ctx)
	if at != nil {
		err = at.forward(ctx, m)
	} else {
		_, err = m.repo.Alter("update-ref", "-m", m.note(), m.ref(), m.out.After, m.out.Before).Run(ctx)
	}
	now, lookErr := m.repo.Ref(ctx, m.ref())
	switch {
	case lookErr != nil:
		return false, errors.Join(err, lookErr)
	case err == nil && now == m.out.After:
		fault.Here("merge/landed")
		return true, nil
	case now != m.out.Before:
		return false, nil // somebody moved it: nothing of ours is there
	case err == nil:
		err = fmt.Errorf("%s has another branch checked out since a moment ago, which was moved: look at `git reflog` there: %w", m.out.Checkout, ErrMoved)
	case at != nil:
		err = at.halfway(ctx, m, err)
	}
	return false, fmt.Errorf("move branch %s: %w", plaintext.Quoted(m.out.Into), err)
}

// note is the message in the branch's reflog.
func (m *merge) note() string {
	return fmt.Sprintf("middleman: %s workspace %s", m.r.Strategy, m.w.Name)
}

// bringObjects copies what was made in the view into the repository. Nothing
// refers to it there yet.
func (m *merge) bringObjects(ctx context.Context) error {
	if m.out.After == m.out.Head {
		return nil
	}
	pack, err := os.Create(filepath.Join(m.view.Dir, "merged.pack"))
	if err != nil {
		return err
	}
	defer pack.Close()
	c := m.view.Look("pack-objects", "--revs", "--stdout", "-q")
	c.Stdin = strings.NewReader(m.out.After + "\n^" + m.out.Before + "\n^" + m.out.Head + "\n")
	c.Output, c.Limit = pack, mergeTime
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	if _, err := pack.Seek(0, 0); err != nil {
		return err
	}
	unpack := m.repo.Alter("unpack-objects", "-q")
	unpack.Stdin, unpack.Config = pack, git.Durable
	_, err = unpack.Run(ctx)
	return err
}

// checkout is the one that has the branch checked out.
type checkout struct {
	dirs   git.Dirs
	config map[string]string
	way    git.Transport
}

// checkedOut returns the checkout that has the branch checked out, or nil.
func (m *merge) checkedOut(ctx context.Context) (*checkout, error) {
	trees, err := m.repo.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	var found []int
	for i, tree := range trees {
		if tree.Branch != m.ref() {
			continue
		}
		if tree.Gone != "" {
			return nil, fmt.Errorf("%w: %w", ErrInUse, m.repo.BranchFree(ctx, m.out.Into))
		}
		found = append(found, i)
	}
	switch {
	case len(found) == 0:
		return nil, nil
	case len(found) > 1:
		return nil, fmt.Errorf("branch %s is checked out in %s and in %s, so the files of one of them would be left behind: %w",
			plaintext.Quoted(m.out.Into), plaintext.Quoted(trees[found[0]].Path), plaintext.Quoted(trees[found[1]].Path), ErrInUse)
	}
	c := &checkout{dirs: git.Dirs{GitDir: m.w.GitDir, CommonDir: m.w.GitDir}}
	if found[0] > 0 {
		return c, c.linked(ctx, m, trees[found[0]].Path)
	}
	if c.dirs.WorkTree, err = m.repo.MainCheckout(ctx, trees, m.w.Repository); err == nil && c.dirs.WorkTree == "" {
		err = fmt.Errorf("branch %s is checked out in the main checkout of %s, and nobody knows where that is: check out another branch there, or set core.worktree to the directory whose .git leads there: %w",
			plaintext.Quoted(m.out.Into), plaintext.Quoted(m.w.GitDir), ErrInUse)
	}
	return c, err
}

// linked makes c the linked worktree that is recorded at path, if that is still it: git
// checks that there is a .git at best, and another repository may be there by now, or what
// another record is of.
func (c *checkout) linked(ctx context.Context, m *merge, path string) (err error) {
	c.dirs.WorkTree = path
	if c.dirs.GitDir, err = git.EntryOn(ctx, m.w.GitDir, path, m.ref()); err != nil {
		return err
	}
	if c.dirs.GitDir == "" {
		return fmt.Errorf("%s: its worktree is gone since a moment ago: %w", plaintext.Quoted(path), model.ErrMissing)
	}
	err = look.CheckGitFile(path, c.dirs.GitDir)
	if err == nil {
		return nil
	}
	branch, root := plaintext.Quoted(m.out.Into), plaintext.Quoted(path)
	if other, _ := git.CheckoutDir(m.w.GitDir, path); other != "" {
		return fmt.Errorf("branch %s is checked out in %s by the record %s, but the .git there leads to %s: `git worktree repair` in the directory that has the files of the branch mends the record; if there is none, remove the record: %w",
			branch, root, plaintext.Quoted(c.dirs.GitDir), plaintext.Quoted(other), ErrInUse)
	}
	return fmt.Errorf("branch %s is checked out in %s, which is no worktree of the repository any more: `git worktree prune`, or remove it by `git worktree remove`: %w: %w",
		branch, root, ErrInUse, err)
}

// check refuses a checkout that cannot be brought forward without harm.
func (c *checkout) check(ctx context.Context, m *merge) (err error) {
	where := fmt.Sprintf("branch %s is checked out in %s, which", plaintext.Quoted(m.out.Into), plaintext.Quoted(c.dirs.WorkTree))
	if operation := look.Operation(c.dirs); operation != "" {
		return fmt.Errorf("%s %w: a %s is in progress there: finish or abort it", where, ErrInUse, operation)
	}
	if c.way, err = git.ConsentedTransport(ctx, c.dirs, m.r.Filters); err != nil {
		return err
	}
	if c.config, err = c.dirs.WithoutFilters(ctx); err != nil {
		return err
	}
	if m.r.Filters {
		c.config = map[string]string{}
	} else if len(c.config) > 0 {
		return fmt.Errorf("%s %w: its configuration has filters for files, without which the files there would be wrong: --filters allows them to run", where, ErrInUse)
	}
	if err := c.checkReplaced(ctx, m, where); err != nil {
		return err
	}
	changed, err := look.ChangedBetween(ctx, m.view, m.out.Before, m.out.After)
	if err != nil {
		return err
	}
	if err := c.checkWritable(m, where, changed); err != nil {
		return err
	}
	both, err := m.touched(ctx, c.dirs, changed)
	if err != nil || len(both) == 0 {
		return err
	}
	return &FilesError{What: where, Err: errTouched, Files: both, Hint: "commit or stash them there, then try again"}
}

// halfway returns err, by which git failed to bring the checkout forward, with the files
// that git had changed there by then. Before that they were as the branch has them.
func (c *checkout) halfway(ctx context.Context, m *merge, err error) error {
	changed, lookErr := look.ChangedBetween(ctx, m.view, m.out.Before, m.out.After)
	if lookErr != nil {
		return errors.Join(err, lookErr)
	}
	files, lookErr := m.touched(ctx, c.dirs, changed)
	if lookErr != nil || len(files) == 0 {
		return errors.Join(err, lookErr)
	}
	return fmt.Errorf("%w; git has changed files in %s before that: %s: put them back with `git restore`, and remove what is new, then try again",
		err, plaintext.Quoted(c.dirs.WorkTree), some(files))
}

// errTouched is ErrInUse because of files.
var errTouched = fmt.Errorf("%w: it has changes that are not committed in files that the merge changes", ErrInUse)

// forward moves the branch and the files of the checkout, by one run of git that
// goes on if this process is killed. git refuses to overwrite changes, and a
// branch that does not lead to the commit.
func (c *checkout) forward(ctx context.Context, m *merge) error {
	cmd := c.dirs.Alter("merge", "--ff-only", "--no-overwrite-ignore", "--no-autostash", "--no-verify-signatures", "--quiet", "--", m.out.After)
	cmd.Dir = c.dirs.WorkTree
	cmd.Env = append(cmd.Env, "GIT_REFLOG_ACTION="+m.note())
	cmd.Config = map[string]string{"branch." + m.out.Into + ".mergeoptions": "", "merge.verifySignatures": "false", "merge.autoStash": "false", "pull.twohead": "ort"}
	for key, value := range c.config {
		cmd.Config[key] = value
	}
	cmd = c.way.Over(cmd)
	for try := 1; ; try++ {
		var said bytes.Buffer
		cmd.Errors = &said
		_, err := cmd.Run(ctx)
		switch {
		case err != nil && strings.Contains(said.String(), "index.lock") && try < lockTries:
			time.Sleep(lockPause)
			continue
		case err != nil && (strings.Contains(said.String(), "would be overwritten") || strings.Contains(said.String(), "would lose untracked")):
			return fmt.Errorf("%s has files that are not committed where the merge has others: move them away, then try again: %w: %w", plaintext.Quoted(c.dirs.WorkTree), ErrInUse, err)
		case c.way.Partial: // only then git contacts a remote
			return c.way.Explain(err)
		}
		return err
	}
}
