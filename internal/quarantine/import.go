package quarantine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/plaintext"
)

// maxPins bounds how many refs of one workspace are kept below RefsOf.
const maxPins = 1000

// Result is what an Import did, and what it left.
type Result struct {
	// Branch is the workspace's own, without refs/heads/, or "" if HEAD was detached
	// when the private directory was made. Before and After are its commits in the
	// repository: the same if it did not move.
	Branch        string
	Before, After string
	Commits       int // how many commits After has that Before has not
	// Conflict: the branch has other commits in the repository than the sandbox started
	// from. Nothing was overwritten; Pinned has what the sandbox has.
	Conflict bool
	// Submodules are the paths at which commits of the sandbox have a new submodule. git
	// would run what a repository there names, so the branch did not move; Pinned has the
	// commits.
	Submodules []string
	// Planted are submodules of the checkout whose .git was made or replaced since the
	// sandbox began. The user's git may run what such a .git names: look at it first.
	Planted []string
	// Pinned are the refs that keep what else is new: a full name to an object.
	Pinned map[string]string
	// Head is what HEAD is at in the sandbox if that is not Branch: a full ref, or a
	// commit. HEAD of the user's checkout does not follow.
	Head string
	// IndexKept says why the user's index did not follow, or is "".
	IndexKept string
	// Missed lists what could not be brought over, one line each. It is still in the
	// private directory.
	Missed []string
}

// Complete reports whether the repository now has all that the sandbox has.
func (r Result) Complete() bool { return len(r.Missed) == 0 }

// Import brings what is new in the private directory into the repository. The
// workspace's branch moves if it is where the sandbox last saw it, or if the sandbox only
// added commits to it. All else that is new is pinned below RefsOf. The index of the
// user's checkout follows unless the user staged something since.
//
// Import may be called at any time, while sessions run too, and again after it was killed
// anywhere. Without a private directory it does nothing.
func (q *Quarantine) Import(ctx context.Context) (Result, error) {
	lock, err := q.lock(ctx)
	if err != nil {
		return Result{}, err
	}
	defer lock.Close()
	there, err := q.exists()
	if err != nil || !there {
		return Result{}, err
	}
	return q.importLocked(ctx)
}

func (q *Quarantine) importLocked(ctx context.Context) (Result, error) {
	i := &importing{q: q}
	var err error
	if i.r, err = q.load(); err != nil {
		return i.out, err
	}
	i.out.Branch = strings.TrimPrefix(i.r.Branch, "refs/heads/")
	seen, err := seenAt(q.path(GitDirectory))
	if err != nil {
		return i.out, fmt.Errorf("%w: %w", err, ErrUnreadable)
	}
	same := seen != "" && seen == i.r.Seen
	if !same || len(i.r.Submodules) > 0 {
		if i.s, err = q.siteOf(i.r); err != nil {
			return i.out, err
		}
		if i.out.Planted, err = i.s.planted(i.r.Submodules); err != nil {
			return i.out, err
		}
	}
	if same {
		if _, gone := os.Lstat(q.w.GitDir); errors.Is(gone, fs.ErrNotExist) {
			return i.out, nil // with its checkout
		}
		i.out.Before, err = git.Whole(q.w.GitDir).Ref(ctx, i.r.Branch)
		i.out.After, i.out.Pinned, i.out.Head = i.out.Before, i.r.Pinned, i.r.Head
		return i.out, err
	}
	if i.in, err = q.enter(ctx, i.s, false); err != nil {
		return i.out, err
	}
	defer i.in.close()
	if err := i.run(ctx); err != nil {
		return i.out, err
	}
	i.r.Seen, i.r.Pinned, i.r.Head = "", i.out.Pinned, i.out.Head
	if i.out.Complete() && !i.out.Conflict && i.out.Submodules == nil && i.out.IndexKept == "" {
		i.r.Seen = seen
	}
	return i.out, q.save(i.r)
}

// importing is one Import.
type importing struct {
	q    *Quarantine
	s    site
	r    record
	in   *inside
	t    tips
	out  Result
	have map[string]string // the refs below RefsOf, without that beginning
}

func (i *importing) repo() git.Dirs { return git.Whole(i.s.CommonDir) }

func (i *importing) run(ctx context.Context) error {
	var err error
	if i.t, err = i.in.tips(ctx); err != nil {
		return err
	}
	if i.have, err = i.q.pinned(ctx, i.s); err != nil {
		return err
	}
	if i.out.Before, err = i.repo().Ref(ctx, i.r.Branch); err != nil {
		return err
	}
	i.out.After = i.out.Before
	if i.t.head.branch != i.r.Branch || i.r.Branch == "" {
		i.out.Head = i.t.head.branch + i.t.head.commit // one of them is ""
	}
	i.bringLFS()
	want := i.t.pins(i.r.Branch, i.r.Refs)
	own := i.t.objects[i.r.Branch]
	if own != "" && own != i.r.Refs[i.r.Branch] && own != i.out.Before {
		stays, err := i.takeBranch(ctx, own)
		if err != nil {
			return err
		}
		if stays {
			want[pinOf(i.r.Branch)] = own
		}
	} else if own != "" && own == i.out.Before {
		i.r.Refs[i.r.Branch] = own
	}
	if err := i.pin(ctx, want); err != nil {
		return err
	}
	if err := i.follow(ctx); err != nil {
		return err
	}
	return i.release(ctx)
}

// takeBranch brings the commits of the workspace's branch and moves it to own. It reports
// true if the branch stays where it is, and own is to be pinned.
func (i *importing) takeBranch(ctx context.Context, own string) (stays bool, err error) {
	kinds, err := i.in.kinds(ctx, []string{own})
	if err != nil {
		return false, err
	}
	if kinds[own] != "commit" {
		i.miss(i.r.Branch, own, errors.New("it is no commit"))
		return false, nil
	}
	if err := i.bring(ctx, []string{own}); err != nil {
		if ctx.Err() != nil || errors.Is(err, git.ErrHeldUp) {
			return false, err
		}
		i.miss(i.r.Branch, own, err)
		return false, nil
	}
	fault.Here("quarantine/brought")
	i.out.Submodules, err = i.s.newSubmodules(ctx, i.out.Before, own)
	if errors.Is(err, errTooMany) { // git of the user's would not come to an end with it
		i.miss(i.r.Branch, own, err)
		return false, nil
	}
	if err != nil || i.out.Submodules != nil {
		return true, err
	}
	return i.moveBranch(ctx, own)
}

// moveBranch moves the workspace's branch by compare and swap, and reports true if it may
// not.
func (i *importing) moveBranch(ctx context.Context, own string) (stays bool, err error) {
	held, err := git.HoldBranches(ctx, i.s.CommonDir)
	if err != nil {
		return false, err
	}
	defer held.Close() // closing nil only returns an error
	before, err := i.repo().Ref(ctx, i.r.Branch)
	if err != nil {
		return false, err
	}
	if before != "" {
		if has, err := i.s.contains(ctx, before, own); err != nil || has {
			i.r.Refs[i.r.Branch] = own // the user merged what was kept
			return false, err
		}
	}
	free, err := i.mayMove(ctx, before, own)
	if err != nil || !free {
		i.out.Conflict = err == nil
		return true, err
	}
	// From here on nothing is cancelled, so that the record says what was done.
	ctx = context.WithoutCancel(ctx)
	i.r.Moving = own
	if err := i.q.save(i.r); err != nil {
		return false, err
	}
	fault.Here("quarantine/moving")
	c := i.s.Alter("update-ref", "--no-deref", "--create-reflog", "-m", "middleman: import from the sandbox", i.r.Branch, own, before)
	c.Config = git.Durable
	if _, err := c.Run(ctx); err != nil {
		now, lookErr := i.repo().Ref(ctx, i.r.Branch)
		if lookErr != nil || now == before {
			return false, errors.Join(err, lookErr)
		}
		i.out.Conflict = true // somebody moved it since a moment ago
		return true, nil
	}
	fault.Here("quarantine/moved")
	i.out.Before, i.out.After = before, own
	i.r.Refs[i.r.Branch], i.r.Moving = own, ""
	if i.out.Commits, err = i.s.countNew(ctx, before, own); err != nil {
		return false, err
	}
	return false, i.q.save(i.r)
}

// mayMove reports whether the branch, which is at before, may be moved to own: it is where
// the sandbox last saw it, an Import that was killed moved it there, or nothing of it is
// lost. No other checkout may have it.
func (i *importing) mayMove(ctx context.Context, before, own string) (bool, error) {
	trees, err := i.repo().Worktrees(ctx)
	if err != nil {
		return false, err
	}
	for n, tree := range trees {
		ours := git.SameDir(tree.Path, i.s.WorkTree)
		if n == 0 && !tree.Bare { // git may not know where the main checkout is
			ours = i.s.entry == "."
		}
		if tree.Branch == i.r.Branch && !ours {
			return false, nil
		}
	}
	if before == i.r.Refs[i.r.Branch] || before != "" && before == i.r.Moving {
		return true, nil
	}
	if before == "" {
		return false, nil // the user removed it
	}
	return i.s.contains(ctx, own, before)
}

// contains reports whether commit has ancestor in its history.
func (s site) contains(ctx context.Context, commit, ancestor string) (bool, error) {
	_, err := s.Look("merge-base", "--is-ancestor", ancestor, commit).Run(ctx)
	if git.ExitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

func (i *importing) miss(name, object string, why error) {
	i.out.Missed = append(i.out.Missed, fmt.Sprintf("%s (%s): %v", plaintext.Quoted(name), object, why))
}

// pinned returns the refs that keep what came out of the sandbox, without RefsOf.
func (q *Quarantine) pinned(ctx context.Context, s site) (map[string]string, error) {
	all, err := readRefs(ctx, git.Whole(s.CommonDir).Look("for-each-ref", refsFormat, RefsOf(q.w.ID)))
	have := map[string]string{}
	for ref, object := range all.objects {
		have[strings.TrimPrefix(ref, RefsOf(q.w.ID))] = object
	}
	delete(have, "base")
	return have, err
}

// pin makes refs below RefsOf for want, and lets go of those that nothing needs any more.
func (i *importing) pin(ctx context.Context, want map[string]string) error {
	if i.t.staged != "" {
		differs, err := i.stagedDiffers(ctx)
		if err != nil {
			return err
		}
		if differs {
			want["index"] = i.t.staged
		}
	}
	i.out.Pinned = map[string]string{}
	maps.DeleteFunc(want, func(name, object string) bool {
		if i.have[name] == object {
			i.out.Pinned[RefsOf(i.q.w.ID)+name] = object
		}
		return i.have[name] == object
	})
	if len(want) > maxPins {
		names := sortedKeys(want)
		i.out.Missed = append(i.out.Missed, fmt.Sprintf("%d refs: at most %d at once are kept", len(want)-maxPins, maxPins))
		for _, name := range names[maxPins:] {
			delete(want, name)
		}
	}
	if err := i.bringPins(ctx, want); err != nil {
		return err
	}
	fault.Here("quarantine/pins-brought")
	return i.writePins(ctx, want)
}

// bringPins brings what want names, all at once or, if something of it is damaged, one
// after the other. What cannot be brought is removed from want.
func (i *importing) bringPins(ctx context.Context, want map[string]string) error {
	kinds, err := i.in.kinds(ctx, slices.Compact(slices.Sorted(maps.Values(want))))
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(want) {
		if kinds[want[name]] == "" {
			i.miss(name, want[name], errors.New("the object is not there"))
			delete(want, name)
		}
	}
	if len(want) == 0 {
		return nil
	}
	err = i.bring(ctx, slices.Compact(slices.Sorted(maps.Values(want))))
	if err == nil || ctx.Err() != nil || errors.Is(err, git.ErrHeldUp) {
		return err
	}
	for _, name := range sortedKeys(want) {
		if err := i.bring(ctx, []string{want[name]}); err != nil {
			if ctx.Err() != nil || errors.Is(err, git.ErrHeldUp) {
				return err
			}
			i.miss(name, want[name], err)
			delete(want, name)
		}
	}
	return nil
}

// writePins moves the refs in one transaction.
func (i *importing) writePins(ctx context.Context, want map[string]string) error {
	var b strings.Builder
	for _, name := range sortedKeys(want) {
		ref := RefsOf(i.q.w.ID) + name
		i.out.Pinned[ref] = want[name]
		fmt.Fprintf(&b, "update %s %s %s\n", ref, want[name], orZero(i.have[name], want[name]))
	}
	if b.Len() == 0 {
		return nil
	}
	c := i.repo().Alter("update-ref", "--no-deref", "--create-reflog", "-m", "middleman: from the sandbox", "--stdin")
	c.Stdin, c.Config = strings.NewReader(b.String()), git.Durable
	if _, err := c.Run(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("keep what is new in the sandbox: %w", err)
	}
	fault.Here("quarantine/pinned")
	return nil
}

// release deletes refs below RefsOf whose ref in the sandbox is gone and whose commits the
// workspace's branch has, and that of the staged files once the user's index has them.
func (i *importing) release(ctx context.Context) error {
	var b strings.Builder
	for _, name := range sortedKeys(i.have) {
		ref := RefsOf(i.q.w.ID) + name
		if i.out.Pinned[ref] != "" || i.out.After == "" {
			continue
		}
		gone := name == "index"
		if !gone {
			var err error
			if gone, err = i.s.contains(ctx, i.out.After, i.have[name]); err != nil && git.ExitCode(err) != 128 { // 128: no commit
				return err
			}
		}
		if gone {
			fmt.Fprintf(&b, "delete %s %s\n", ref, i.have[name])
		}
	}
	if b.Len() == 0 {
		return nil
	}
	c := i.repo().Alter("update-ref", "--no-deref", "--stdin")
	c.Stdin = strings.NewReader(b.String())
	_, err := c.Run(context.WithoutCancel(ctx))
	return err
}

// digest is a short name for text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
