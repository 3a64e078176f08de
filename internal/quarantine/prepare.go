package quarantine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// Prepare makes the private git directory if there is none, and returns what the policy
// of a session needs. live says that a sandboxed session of the workspace runs: then the
// directory stays as it is. Else Prepare first imports what is new, and then brings in
// what the repository has got since.
//
// A directory that git cannot read any more is set aside, and a note says so.
//
// Where a private directory cannot take the place of a .git, that is read-only: without
// mounts in the checkout that has the repository in it, and see withoutRepository.
func (q *Quarantine) Prepare(ctx context.Context, live bool) (Access, error) {
	if q.w.GitDir != "" && !q.mounts() {
		if s, err := q.site(); err == nil && s.entry == "." {
			return Access{ReadOnly: []string{filepath.Join(s.WorkTree, ".git")}}, nil // which a policy refuses
		}
	}
	lock, err := q.lock(ctx)
	if err != nil {
		return Access{}, err
	}
	defer lock.Close()
	if q.w.GitDir == "" {
		return q.withoutRepository()
	}
	s, err := q.site()
	switch {
	case errors.Is(err, fs.ErrNotExist) && q.w.Mode == model.ModeInPlace:
		return Access{Notes: []string{"git cannot commit here, because the workspace is a part of its checkout: make one of the whole checkout, or a worktree (`middleman new`)"}}, nil
	case err != nil:
		return Access{}, err
	}
	if err := q.sweep(); err != nil {
		return Access{}, err
	}
	there, err := q.exists()
	if err != nil {
		return Access{}, err
	}
	r, err := q.load()
	if err != nil {
		return Access{}, err
	}
	var notes []string
	if there && !live {
		if r, notes, err = q.renew(ctx, s, r); err != nil {
			return Access{}, err
		}
	} else if !there {
		if r, err = q.create(ctx, s); err != nil {
			return Access{}, err
		}
	}
	a, err := q.access(s, r)
	if err == nil && s.entry == "." {
		err = s.guard(ctx, &a)
	}
	a.Notes = append(notes, a.Notes...)
	return a, err
}

// renew brings a private directory up to date that no session uses. Without anything new
// on either side it starts no program.
func (q *Quarantine) renew(ctx context.Context, s site, r record) (record, []string, error) {
	host, err := s.fingerprint(q)
	if err != nil {
		return r, nil, err
	}
	planted, err := s.planted(r.Submodules)
	if err != nil {
		return r, nil, err
	}
	seen, err := seenAt(q.path(GitDirectory))
	if err == nil && seen != "" && seen == r.Seen && host != "" && host == r.Host && planted == nil {
		return r, nil, nil
	}
	if err == nil {
		var notes []string
		if r, notes, err = q.refresh(ctx, s); err == nil {
			return r, notes, nil
		}
	}
	if !errors.Is(err, ErrUnreadable) {
		return r, nil, err
	}
	aside, failed := q.setAside()
	if failed != nil {
		return r, nil, errors.Join(err, failed)
	}
	notes := []string{fmt.Sprintf("%v: it is kept in %s", err, aside)}
	r, err = q.create(ctx, s)
	return r, notes, err
}

// sweep removes what a killed process left. No other one works here: we have the lock.
func (q *Quarantine) sweep() error {
	left, err := filepath.Glob(filepath.Join(q.dir, tempName+"*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// setAside renames a private directory that git cannot read, and returns its new path.
func (q *Quarantine) setAside() (string, error) {
	for n := 1; ; n++ {
		aside := q.path(fmt.Sprintf("%s%d", brokenName, n))
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		return aside, os.Rename(q.path(GitDirectory), aside)
	}
}

// refreshing brings the private side up to date.
type refreshing struct {
	importing
	all   refs
	head  position
	index string
	notes []string
}

// refresh imports what is new in the private directory, and brings in what the repository
// has got since. What both sides have changed stays as the sandbox has it.
func (q *Quarantine) refresh(ctx context.Context, s site) (record, []string, error) {
	f := &refreshing{importing: importing{q: q, s: s}}
	out, err := q.importLocked(ctx)
	if err != nil {
		return f.r, nil, err
	}
	f.note(out)
	if f.r, err = q.load(); err != nil {
		return f.r, nil, err
	}
	if err := f.look(ctx); err != nil {
		return f.r, nil, err
	}
	if f.in, err = q.enter(ctx, s, true); err != nil {
		return f.r, nil, err
	}
	defer f.in.close()
	if f.t, err = f.in.tips(ctx); err != nil {
		return f.r, nil, err
	}
	if err := f.bringIn(ctx); err != nil {
		return f.r, nil, err
	}
	if f.r.Seen != "" { // all that it had is imported, and the rest is the user's
		if f.r.Seen, err = fingerprint(f.in.root, "."); err != nil {
			return f.r, nil, err
		}
	}
	return f.r, f.notes, q.save(f.r)
}

// look reads what the repository has, and keeps it for the sandbox.
func (f *refreshing) look(ctx context.Context) (err error) {
	if f.r.Host, err = f.s.fingerprint(f.q); err != nil {
		return err
	}
	if f.all, err = f.s.hostRefs(ctx); err != nil {
		return err
	}
	if f.head, err = f.s.head(ctx); err != nil {
		return err
	}
	if f.r.Submodules, err = f.s.submodules(ctx); err != nil {
		return err
	}
	if f.index, err = f.q.hostTree(ctx, f.s); err != nil {
		return err
	}
	return f.s.pinBase(ctx, f.q.w, f.all, f.index)
}

// note tells the user of a session what the last import could not do.
func (f *refreshing) note(out Result) {
	name := plaintext.Quoted(out.Branch)
	if out.Conflict {
		f.notes = append(f.notes, "branch "+name+" has other commits outside: those of the sandbox are kept below "+RefsOf(f.q.w.ID))
	}
	if out.Submodules != nil {
		f.notes = append(f.notes, "commits of the sandbox add a submodule, so branch "+name+" did not move: they are kept below "+RefsOf(f.q.w.ID))
	}
	if out.Planted != nil {
		f.notes = append(f.notes, "submodules whose .git was replaced since the last session; look at them before you run git there: "+plaintext.Quoted(strings.Join(out.Planted, ", ")))
	}
	for _, missed := range out.Missed {
		f.notes = append(f.notes, "not imported: "+missed)
	}
}

func (f *refreshing) bringIn(ctx context.Context) error {
	if err := f.rewrite(); err != nil {
		return err
	}
	if err := f.moveRefs(ctx); err != nil {
		return err
	}
	fault.Here("quarantine/refs-refreshed")
	if f.upToDate() {
		return nil
	}
	settled, err := f.settled(ctx)
	if err != nil {
		return err
	}
	if !settled {
		f.notes = append(f.notes, "the checkout has changed outside, and in the sandbox too: the sandbox keeps its own branch and staged files")
		return nil
	}
	return f.takeCheckout(ctx)
}

// rewrite writes again what names places on this machine: they may have moved.
func (f *refreshing) rewrite() error {
	alternates, err := f.s.alternates()
	if err != nil {
		return err
	}
	files := map[string]string{"objects/info/alternates": f.s.alternatesFile(f.q.path(baseName), alternates)}
	for name, content := range f.s.ownFiles(position{}) {
		if name != "HEAD" {
			files[f.in.own(name)] = content
		}
	}
	for _, name := range sortedKeys(files) {
		if err := f.write(name, strings.NewReader(files[name])); err != nil {
			return err
		}
	}
	return nil
}

// write replaces a file of the private directory.
func (f *refreshing) write(name string, content io.Reader) error {
	made := path.Join(path.Dir(name), fmt.Sprintf(".middleman-%d", time.Now().UnixNano()))
	file, err := f.in.root.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = io.Copy(file, content)
		err = errors.Join(err, file.Close())
	}
	if err == nil {
		err = f.in.root.Rename(made, name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w: %w", plaintext.Quoted(name), err, ErrUnreadable)
	}
	return nil
}

// moveRefs gives the private side each ref that changed outside and not in the sandbox.
// The workspace's branch moves with its checkout alone.
func (f *refreshing) moveRefs(ctx context.Context) error {
	var b strings.Builder
	names := map[string]bool{}
	for ref := range f.all.objects {
		names[ref] = true
	}
	for ref := range f.r.Refs {
		names[ref] = true
	}
	for _, ref := range sortedKeys(names) {
		now, before, inside := f.all.objects[ref], f.r.Refs[ref], f.t.objects[ref]
		if now == before || ref == f.r.Branch {
			continue
		}
		switch {
		case inside != before || inside == now:
		case now == "":
			fmt.Fprintf(&b, "delete %s %s\n", ref, before)
		default:
			fmt.Fprintf(&b, "update %s %s %s\n", ref, now, orZero(before, now))
		}
		if f.r.Refs[ref] = now; now == "" {
			delete(f.r.Refs, ref)
		}
	}
	return f.updateRefs(ctx, b.String())
}

// orZero is object, or what stands for no object beside like.
func orZero(object, like string) string {
	if object == "" {
		return strings.Repeat("0", len(like))
	}
	return object
}

func (f *refreshing) updateRefs(ctx context.Context, updates string) error {
	if updates == "" {
		return nil
	}
	c := f.in.look("update-ref", "--no-deref", "--stdin")
	c.Stdin, c.Change = strings.NewReader(updates), true
	_, err := c.Run(ctx)
	return f.in.damaged(err)
}

// upToDate reports whether the sandbox has the checkout as it is outside.
func (f *refreshing) upToDate() bool {
	return f.head.branch == f.r.Branch && f.head.commit == f.t.objects[f.r.Branch] && f.index == f.r.Index
}

// settled reports whether nothing of the checkout was left half-way in the sandbox: it is
// on its branch, all of that and all that is staged is outside too.
func (f *refreshing) settled(ctx context.Context) (bool, error) {
	own := f.t.objects[f.r.Branch]
	if f.t.head.branch != f.r.Branch || f.r.Branch == "" || own != f.r.Refs[f.r.Branch] || f.t.staged == "" {
		return false, nil
	}
	if operation := look.Operation(git.Dirs{GitDir: filepath.Join(f.q.path(GitDirectory), f.s.entry)}); operation != "" {
		return false, nil
	}
	if f.t.staged == f.r.Index || f.t.staged == f.index {
		return true, nil
	}
	differs, err := f.stagedDiffers(ctx)
	return !differs, err
}

// takeCheckout gives the sandbox HEAD, the branch and the index of the checkout as they are
// outside.
func (f *refreshing) takeCheckout(ctx context.Context) error {
	if branch, now := f.head.branch, f.head.commit; branch != "" && now != "" && f.t.objects[branch] != now {
		if err := f.updateRefs(ctx, fmt.Sprintf("update %s %s %s\n", branch, now, orZero(f.t.objects[branch], now))); err != nil {
			return err
		}
		f.r.Refs[branch] = now
	}
	if err := f.write(f.in.own("HEAD"), strings.NewReader(f.head.text())); err != nil {
		return err
	}
	f.r.Branch, f.r.Index = f.head.branch, f.index
	from, err := os.OpenRoot(f.s.GitDir)
	if err != nil {
		return err
	}
	defer from.Close()
	parts, err := fs.Glob(from.FS(), "sharedindex.*")
	if err != nil {
		return err
	}
	for _, name := range append(parts, "index") {
		file, _, err := plainfile.Open(from, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = f.write(f.in.own(name), file)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}
