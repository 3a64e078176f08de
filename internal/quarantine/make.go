package quarantine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/plainfile"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// create makes the private git directory. A crash leaves at most one that is not complete,
// and the next call begins again.
func (q *Quarantine) create(ctx context.Context, s site) (record, error) {
	host, err := s.fingerprint(q)
	if err != nil {
		return record{}, err
	}
	all, err := s.hostRefs(ctx)
	if err != nil {
		return record{}, err
	}
	head, err := s.head(ctx)
	if err != nil {
		return record{}, err
	}
	r := record{Entry: s.entry, Branch: head.branch, Refs: all.objects, Host: host}
	if r.Submodules, err = s.submodules(ctx); err != nil {
		return record{}, err
	}
	if r.Index, err = q.hostTree(ctx, s); err != nil {
		return record{}, err
	}
	if err := s.pinBase(ctx, q.w, all, r.Index); err != nil {
		return record{}, err
	}
	fault.Here("quarantine/base-pinned")
	making := q.path(makingName)
	if err := os.RemoveAll(making); err != nil {
		return record{}, err
	}
	if err := s.fill(ctx, making, q.path(baseName), all, head); err != nil {
		return record{}, fmt.Errorf("make the private git directory: %w", err)
	}
	if err := makeDir(q.path(baseName)); err != nil {
		return record{}, err
	}
	if err := os.WriteFile(q.path(blankName), nil, 0o600); err != nil {
		return record{}, err
	}
	if r.Seen, err = seenAt(making); err != nil {
		return record{}, err
	}
	if err := q.save(r); err != nil {
		return record{}, err
	}
	fault.Here("quarantine/recorded")
	return r, os.Rename(making, q.path(GitDirectory))
}

// position is where HEAD of a checkout is.
type position struct {
	branch string // a full ref, or "" if HEAD is detached
	commit string // "" on a branch without commits
}

// text is the content of the file HEAD.
func (p position) text() string {
	if p.branch != "" {
		return "ref: " + p.branch + "\n"
	}
	return p.commit + "\n"
}

// head reads HEAD of the checkout on the user's side.
func (s site) head(ctx context.Context) (position, error) {
	branch, err := s.Look("symbolic-ref", "--quiet", "HEAD").Line(ctx)
	if err != nil && git.ExitCode(err) != 1 { // status 1: it is detached
		return position{}, err
	}
	commit, err := s.Commit(ctx, "HEAD")
	if err == nil && branch != "" && !plainRef(branch) {
		err = s.Look("symbolic-ref").Odd(branch)
	}
	return position{branch, commit}, err
}

// unshared are settings of a private git directory: whatever the user's own say, git asks
// for no set-group-ID there, which a sandbox refuses.
const unshared = "[core]\n\tsharedRepository = umask\n"

// fill writes a private git directory at dir, whose objects are those of the repository.
func (s site) fill(ctx context.Context, dir, base string, all refs, head position) error {
	common, own, err := s.CopySettings(ctx, keepSetting)
	if err != nil {
		return err
	}
	main, err := git.Whole(s.CommonDir).Look("symbolic-ref", "--quiet", "HEAD").Line(ctx)
	if err != nil && git.ExitCode(err) != 1 {
		return err
	}
	files := map[string]string{
		"config": common + unshared, "packed-refs": all.packed(), "HEAD": head.text(),
		"objects/pack/": "", "hooks/": "", "refs/heads/": "", "refs/tags/": "", "logs/refs/heads/": "",
	}
	if s.entry != "." && main != "" {
		files["HEAD"] = "ref: " + main + "\n"
	}
	for ref, to := range all.symbolic {
		files[ref] = "ref: " + to + "\n"
	}
	alternates, err := s.alternates()
	if err != nil {
		return err
	}
	files["objects/info/alternates"] = s.alternatesFile(base, alternates)
	for name, content := range s.ownFiles(head) {
		files[filepath.Join(s.entry, name)] = content
	}
	if own != "" {
		files[filepath.Join(s.entry, "config.worktree")] = own
	}
	for _, name := range sortedKeys(files) {
		if err := writeNew(filepath.Join(dir, name), files[name], strings.HasSuffix(name, "/")); err != nil {
			return err
		}
	}
	return s.copyState(dir, head)
}

// ownFiles are the files by which git knows a linked worktree.
func (s site) ownFiles(head position) map[string]string {
	if s.entry == "." {
		return nil
	}
	up := strings.Repeat("../", strings.Count(filepath.ToSlash(s.entry), "/")+1)
	return map[string]string{
		"HEAD": head.text(), "commondir": strings.TrimSuffix(up, "/") + "\n", "gitdir": filepath.Join(s.WorkTree, ".git") + "\n",
	}
}

func writeNew(path, content string, dir bool) error {
	if dir {
		return os.MkdirAll(path, 0o700)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}

// sharedState are files of the repository that the private directory begins with, and
// ownState those of the checkout. A name that ends with * is a beginning.
var (
	sharedState = []string{"info/exclude", "info/attributes", "shallow", "rr-cache"}
	ownState    = []string{"index", "sharedindex.*", "ORIG_HEAD", "FETCH_HEAD", "MERGE_*", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD",
		"REBASE_HEAD", "SQUASH_MSG", "COMMIT_EDITMSG", "BISECT_*", "logs/HEAD", "rebase-merge", "rebase-apply", "sequencer",
		"info/sparse-checkout", "refs/bisect", "refs/worktree", "refs/rewritten"}
)

// copyState copies what the checkout and the repository have besides refs and settings.
func (s site) copyState(dir string, head position) error {
	names := slices.Clone(sharedState)
	if head.branch != "" {
		names = append(names, "logs/"+head.branch)
	}
	if err := copyNamed(s.CommonDir, dir, names); err != nil {
		return err
	}
	return copyNamed(s.GitDir, filepath.Join(dir, s.entry), ownState)
}

func copyNamed(from, to string, names []string) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	for _, name := range names {
		found := []string{name}
		if start, many := strings.CutSuffix(name, "*"); many {
			if found, err = fs.Glob(source.FS(), start+"*"); err != nil {
				return err
			}
		}
		for _, name := range found {
			if err := copyTree(source, name, to); err != nil {
				return fmt.Errorf("copy %s: %w", filepath.Join(from, name), err)
			}
		}
	}
	return nil
}

// copyTree copies a file, or a directory of files, to the same name below to. What is
// neither is left out, and so are locks.
func copyTree(source *os.Root, name, to string) error {
	return fs.WalkDir(source.FS(), name, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !entry.Type().IsRegular() || strings.HasSuffix(at, ".lock"):
			return nil
		}
		file, _, err := plainfile.Open(source, at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another git has just removed it
		}
		if err != nil {
			return err
		}
		defer file.Close()
		path := filepath.Join(to, filepath.FromSlash(at))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		copied, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(copied, file)
		return errors.Join(err, copied.Close())
	})
}
