package quarantine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// maxOwn bounds how many objects of the private directory are looked at.
const maxOwn = 200_000

// subject is the format of a commit's first line, of which a program may make any length.
const subject = "%<(200,trunc)%s"

// shortID is how many digits of an object's name people are shown.
const shortID = 12

// Holds returns what a removal of the private directory would destroy: its stash, commits
// that are on no branch and no remote of the repository, an operation in progress. For
// information it lists what only its reflogs, tags and dropped stashes have, and the names
// of its own branches. Each entry begins with model.InSandbox. It is empty without a private
// directory, and if the repository is gone, without which nobody can read that.
//
// Import first: Holds counts what the workspace's branch has in the repository. An error
// means that it could not find out.
func (q *Quarantine) Holds(ctx context.Context) (model.Loss, error) {
	h := &holding{q: q}
	if _, err := os.Lstat(q.dir); errors.Is(err, fs.ErrNotExist) {
		return h.loss, nil
	}
	if _, err := os.Lstat(q.w.GitDir); errors.Is(err, fs.ErrNotExist) {
		return h.loss, nil
	}
	lock, err := q.lock(ctx)
	if err != nil {
		return h.loss, err
	}
	defer lock.Close()
	if err := h.aside(); err != nil {
		return h.loss, err
	}
	there, err := q.exists()
	if err != nil || !there {
		return h.loss, err
	}
	r, err := q.load()
	if err != nil {
		return h.loss, err
	}
	if h.s, err = q.siteOf(r); err != nil {
		return h.loss, err
	}
	if h.in, err = q.enter(ctx, h.s, false); err != nil {
		return h.loss, err
	}
	defer h.in.close()
	err = h.run(ctx, r)
	return h.loss, err
}

// holding is one Holds.
type holding struct {
	q    *Quarantine
	s    site
	in   *inside
	t    tips
	host refs   // of the repository, without ours
	head string // the commit of the user's checkout, or ""
	loss model.Loss
}

// add appends an entry to a list, up to model.MaxListed.
func (h *holding) add(list *[]string, entry string) {
	if len(*list) == model.MaxListed {
		h.loss.Truncated = true
		return
	}
	*list = append(*list, model.InSandbox+entry)
}

// aside lists the private directories that git could not read.
func (h *holding) aside() error {
	found, err := filepath.Glob(h.q.path(brokenName) + "*")
	for _, dir := range found {
		h.add(&h.loss.Abandoned, "what git could not read, in "+filepath.Base(dir))
	}
	return err
}

func (h *holding) run(ctx context.Context, r record) (err error) {
	if h.t, err = h.in.tips(ctx); err != nil {
		return err
	}
	if h.host, err = readRefs(ctx, git.Whole(h.s.CommonDir).Look("for-each-ref", refsFormat)); err != nil {
		return err
	}
	for ref := range h.host.objects {
		if strings.HasPrefix(ref, "refs/middleman/") {
			delete(h.host.objects, ref) // no view shows these
		}
	}
	if !h.s.gone {
		if h.head, err = h.s.Commit(ctx, "HEAD"); err != nil {
			return err
		}
	}
	h.loss.Operation = look.Operation(git.Dirs{GitDir: filepath.Join(h.q.path(GitDirectory), filepath.FromSlash(r.Entry))})
	if err := h.commits(ctx); err != nil {
		return err
	}
	if err := h.stash(ctx); err != nil {
		return err
	}
	h.names(r)
	if err := h.staged(ctx, r); err != nil {
		return err
	}
	return h.abandoned(ctx)
}

// elsewhere are commits that are in no ref and yet not in the sandbox alone: those of a
// forge, the one from which a restore makes the branch again, and that of the checkout.
func (h *holding) elsewhere() (commits []string) {
	if model.IsChange(h.q.w.Base) {
		commits = append(commits, h.q.w.BaseCommit)
	}
	commits = append(commits, h.q.w.Tip, h.head)
	return slices.DeleteFunc(commits, func(c string) bool { return !git.IsObjectID(c) })
}

// commits adds those of the sandbox's branches and of its HEAD that the repository has on
// no branch and from no remote.
func (h *holding) commits(ctx context.Context) error {
	from, not := h.branches(), h.elsewhere()
	for ref, object := range h.host.objects {
		if strings.HasPrefix(ref, "refs/heads/") || strings.HasPrefix(ref, "refs/remotes/") {
			not = append(not, object)
		}
	}
	for ref, object := range h.t.objects {
		if strings.HasPrefix(ref, "refs/remotes/") {
			not = append(not, object)
		}
	}
	return h.list(ctx, &h.loss.Commits, "", from, not)
}

// branches are the commits of the sandbox's branches and of its HEAD.
func (h *holding) branches() (commits []string) {
	for ref, object := range h.t.objects {
		if strings.HasPrefix(ref, "refs/heads/") {
			commits = append(commits, object)
		}
	}
	if h.t.head.commit != "" {
		commits = append(commits, h.t.head.commit)
	}
	return commits
}

// list adds to a list the commits that from reaches and not does not, each after a word.
func (h *holding) list(ctx context.Context, to *[]string, before string, from, not []string) error {
	known := map[string]bool{}
	for _, object := range not {
		known[object] = true
	}
	from = slices.DeleteFunc(from, func(object string) bool { return known[object] })
	if len(from) == 0 {
		return nil
	}
	var b strings.Builder
	for _, object := range from {
		b.WriteString(object + "\n")
	}
	for _, object := range not {
		b.WriteString("^" + object + "\n")
	}
	c := h.in.look("rev-list", "--ignore-missing", "--no-commit-header", "--format=%h "+subject, fmt.Sprintf("--max-count=%d", model.MaxListed+1), "--stdin")
	c.Stdin = strings.NewReader(b.String())
	return h.lines(ctx, c, to, before)
}

// stash adds the stashes of the sandbox. It begins with none of the user's.
func (h *holding) stash(ctx context.Context) error {
	if len(h.t.stashes) == 0 {
		return nil
	}
	c := h.in.look("rev-list", "--walk-reflogs", "--no-commit-header", "--format="+subject, fmt.Sprintf("--max-count=%d", model.MaxListed+1), "refs/stash", "--")
	return h.lines(ctx, c, &h.loss.Stashed, "")
}

// lines adds the lines that a command prints to a list.
func (h *holding) lines(ctx context.Context, c git.Command, to *[]string, before string) error {
	var found []string
	c.Lines = true
	c.Again = func() { found = nil }
	c.Each = func(line string) { found = append(found, line) }
	if _, err := c.Run(ctx); err != nil {
		return h.in.damaged(err)
	}
	for _, line := range found {
		h.add(to, before+shownLine(strings.TrimRight(line, " ")))
	}
	return nil
}

// names adds the branches, tags and other refs of the sandbox that the repository has not,
// and its HEAD if that is not on the workspace's branch.
func (h *holding) names(r record) {
	for _, ref := range sortedKeys(h.t.objects) {
		object := h.t.objects[ref]
		if !shared(ref) || strings.HasPrefix(ref, "refs/remotes/") || r.Refs[ref] == object || h.host.objects[ref] == object || ref == r.Branch && object == h.q.w.Tip {
			continue
		}
		kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "refs/"), "/")
		switch kind {
		case "heads":
			h.add(&h.loss.Abandoned, "branch "+shownLine(name)+" at "+object[:shortID])
		case "tags":
			h.add(&h.loss.Abandoned, "tag "+shownLine(name)+" at "+object[:shortID])
		default:
			h.add(&h.loss.Abandoned, shownLine(ref)+" at "+object[:shortID])
		}
	}
	switch head := h.t.head; {
	case head.branch == r.Branch:
	case head.branch != "":
		h.add(&h.loss.Abandoned, "HEAD on branch "+shownLine(strings.TrimPrefix(head.branch, "refs/heads/")))
	case r.Branch != "":
		h.add(&h.loss.Abandoned, "HEAD at "+head.commit[:shortID])
	}
}

// staged adds what is staged, unless the checkout of the user has that too, or nothing is.
func (h *holding) staged(ctx context.Context, r record) error {
	if h.t.staged == r.Index {
		return nil
	}
	i := importing{q: h.q, s: h.s, in: h.in, t: h.t}
	if h.t.staged != "" {
		if differs, err := i.stagedDiffers(ctx); err != nil || !differs {
			return err
		}
	}
	h.add(&h.loss.Abandoned, "staged files")
	return nil
}

// abandoned adds the commits of the private directory that none of its branches and stashes
// has, and nothing in the repository: those of its reflogs, its tags and dropped stashes.
func (h *holding) abandoned(ctx context.Context) error {
	own, err := h.ownObjects(ctx)
	if err != nil {
		return err
	}
	if own == nil {
		return nil
	}
	kinds, err := h.in.kinds(ctx, own)
	if err != nil {
		return err
	}
	not := slices.Concat(h.branches(), h.t.stashes, h.elsewhere())
	for _, object := range h.host.objects {
		not = append(not, object)
	}
	for ref, object := range h.t.objects {
		if strings.HasPrefix(ref, "refs/remotes/") {
			not = append(not, object)
		}
	}
	var from []string
	for _, object := range own {
		if kinds[object] == "commit" || kinds[object] == "tag" {
			from = append(from, object)
		}
	}
	return h.list(ctx, &h.loss.Abandoned, model.InSandboxCommit, from, not)
}

// ownObjects returns the objects that lie in the private directory itself, sorted.
func (h *holding) ownObjects(ctx context.Context) ([]string, error) {
	found := map[string]bool{}
	dirs, err := listDir(h.in.root, "objects")
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if len(dir) != 2 {
			continue
		}
		names, err := listDir(h.in.root, path.Join("objects", dir))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if git.IsObjectID(dir + name) {
				found[dir+name] = true
			}
		}
		if len(found) > maxOwn {
			break
		}
	}
	packs, err := listDir(h.in.root, "objects/pack")
	if err != nil {
		return nil, err
	}
	for _, name := range packs {
		if strings.HasSuffix(name, ".idx") && len(found) <= maxOwn {
			if err := h.packed(ctx, path.Join("objects/pack", name), found); err != nil {
				return nil, err
			}
		}
	}
	if len(found) > maxOwn {
		h.add(&h.loss.Abandoned, fmt.Sprintf("more than %d objects: what only its reflogs have is not listed", maxOwn))
		return nil, nil
	}
	return sortedKeys(found), nil
}

// packed adds the objects of a pack, by its index.
func (h *holding) packed(ctx context.Context, name string, found map[string]bool) error {
	index, _, err := plainfile.Open(h.in.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // git has just packed it anew
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	defer index.Close()
	c := h.in.look("show-index")
	c.Stdin, c.Lines = index, true
	c.Each = func(line string) { // "<offset> <object> (<crc>)"
		if fields := strings.Fields(line); len(fields) > 1 && git.IsObjectID(fields[1]) && len(found) <= maxOwn {
			found[fields[1]] = true
		}
	}
	_, err = c.Run(ctx)
	return h.in.damaged(err)
}

// listDir returns the names in a directory of the private side, not more than maxOwn.
func listDir(root *os.Root, name string) (names []string, err error) {
	dir, err := root.OpenRoot(name) // no file: opening one could wait for ever
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	defer dir.Close()
	file, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	names, err = file.Readdirnames(maxOwn + 1)
	if len(names) == 0 {
		return nil, nil // at its end it returns an error
	}
	return names, err
}

// shownLine is text of the sandbox for people.
func shownLine(text string) string {
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return plaintext.Quoted(text)
}
