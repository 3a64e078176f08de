package look

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// indexed reads the index of the checkout at p. It returns the paths of submodules,
// and of changed files that git status skips because the user told git to
// (assume-unchanged, skip-worktree), at most one more than a Loss lists.
func indexed(ctx context.Context, p git.Dirs) (submodules, hidden []string, err error) {
	tree, err := os.OpenRoot(p.WorkTree)
	if err != nil {
		return nil, nil, err
	}
	defer tree.Close()
	c := p.Look("ls-files", "--stage", "-v", "-z")
	c.Each = func(record string) { // "H 100644 <object> 0\t<path>"
		head, path, _ := strings.Cut(record, "\t")
		fields := strings.Fields(head)
		if len(fields) != 4 {
			return
		}
		tag, mode, object := fields[0], fields[1], fields[2]
		if mode == "160000" {
			submodules = append(submodules, path)
		} else if (tag == "S" || tag == strings.ToLower(tag)) && len(hidden) <= model.MaxListed && !sameContent(tree, path, object) {
			hidden = append(hidden, path)
		}
	}
	_, err = c.Run(ctx)
	return submodules, hidden, err
}

// sameContent reports whether the file at path is byte for byte the blob
// object. A missing file counts as the same.
func sameContent(tree *os.Root, path, object string) bool {
	info, err := tree.Lstat(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	var content io.Reader
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := tree.Readlink(path)
		if err != nil {
			return false
		}
		content = strings.NewReader(target)
	case info.Mode().IsRegular():
		file, err := tree.Open(path)
		if err != nil {
			return false
		}
		defer file.Close()
		content = file
	default:
		return false
	}
	var sum hash.Hash = sha1.New()
	if len(object) == hex.EncodedLen(sha256.Size) {
		sum = sha256.New()
	}
	fmt.Fprintf(sum, "blob %d\x00", info.Size())
	if _, err := io.Copy(sum, content); err != nil {
		return false
	}
	return hex.EncodeToString(sum.Sum(nil)) == object
}

// submodule adds what differs in the submodule at path of the checkout at p.
func (l *collector) submodule(ctx context.Context, p git.Dirs, path, name string) error {
	dir := filepath.Join(p.WorkTree, filepath.FromSlash(path))
	gitFile := filepath.Join(dir, ".git")
	if _, err := os.Lstat(gitFile); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return l.walk(dir, name+path+"/") // not checked out: git status skips its content
	}
	if resolved, err := filepath.EvalSymlinks(dir); err != nil || resolved != dir {
		return fmt.Errorf("submodule %s: behind a link: %w", plaintext.Quoted(name+path), model.ErrUnknown)
	}
	gitDir, err := git.ReadPath(gitFile, dir)
	inside := false
	if err == nil {
		modules := filepath.Join(p.GitDir, "modules") + string(filepath.Separator)
		gitDir, err = filepath.EvalSymlinks(gitDir)
		inside = err == nil && strings.HasPrefix(gitDir, modules)
	}
	if !inside {
		// It is not where git puts a worktree's submodules, so we trust neither
		// its commits nor its configuration.
		l.add(&l.loss.Changed, name+path+" (a repository of its own)")
		return nil
	}
	repo := git.Whole(gitDir)
	repo.WorkTree = dir
	return l.files(ctx, repo, name+path+"/")
}

// submodules adds what only the repositories of submodules hold. These lie in
// git's directory for the worktree and are deleted with it, even if they are
// not checked out.
func (l *collector) submodules(ctx context.Context, gitDir string) error {
	modules := filepath.Join(gitDir, "modules")
	return filepath.WalkDir(modules, func(path string, entry fs.DirEntry, err error) error {
		if path == modules && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(path, "HEAD")); err != nil || !entry.IsDir() {
			return nil // a directory that is a part of a submodule's name
		}
		if err := l.submoduleHistory(ctx, git.Whole(path)); err != nil {
			return err
		}
		if err := l.lentWorktrees(path, "submodule "+filepath.Base(path)); err != nil {
			return err
		}
		if err := l.submodules(ctx, path); err != nil {
			return err
		}
		return fs.SkipDir
	})
}

func (l *collector) submoduleHistory(ctx context.Context, p git.Dirs) error {
	l.operation(p)
	head, err := headOf(ctx, p)
	if err != nil {
		return err
	}
	own := []string{"--branches"}
	if head != "" {
		own = append(own, head)
	}
	remote := append(clonedTags(p), shallow(p)...)
	name := strings.ReplaceAll(filepath.Base(p.GitDir), "%", "%%") + ": " // in a format of git
	if err := l.historyFrom(ctx, p, &l.loss.Commits, remote, slices.Concat([]string{"--stdin"}, own, []string{"--not", "--remotes"}), name+"%h %s"); err != nil {
		return err
	}
	if err := l.toldIfUnread(name, l.submoduleAbandoned(ctx, p, own, remote, name)); err != nil {
		return err
	}
	stash, err := p.Ref(ctx, "refs/stash")
	if err != nil || stash == "" {
		return err
	}
	return l.history(ctx, p, &l.loss.Stashed, []string{"--walk-reflogs", "refs/stash", "--"}, name+"stash: %s")
}

// submoduleAbandoned adds the commits of the repository of a submodule that only its
// tags, notes, other refs, and reflogs hold, and what else these name. A fetch may have
// brought them, and amending leaves them, so they do not stop a delete, as in the
// workspace itself. own are its
// branches and HEAD, as arguments of rev-list; remote is what came from its remote besides
// branches: clonedTags and shallow.
func (l *collector) submoduleAbandoned(ctx context.Context, p git.Dirs, own, remote []string, name string) error {
	// A remote's branches are there; stashes are listed as stashes.
	refs := []string{"--exclude=refs/remotes/*", "--exclude=refs/stash", "--all"}
	from, err := logged(ctx, p, refs)
	if err == nil && len(own) == 1 { // no HEAD
		from, err = withUnborn(p, from)
	}
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"--ignore-missing", "--stdin"}, refs, []string{"--not", "--remotes"}, own)
	if err := l.historyFrom(ctx, p, &l.loss.Abandoned, append(from, remote...), args, name+"%h %s%d"); err != nil {
		return err
	}
	came := fetchedTags(p)
	for _, tag := range remote {
		came[tag[1:]] = true
	}
	return l.otherObjects(ctx, p, "refs/", came, filepath.Base(p.GitDir)+": ")
}

// clockTick is how much later than time(2) says a file can have been written: the one
// counts ticks of the kernel, of at most 10 ms, and the other can be exact since Linux
// 6.13 (multigrain timestamps).
const clockTick = 10 * time.Millisecond

// clonedTags returns the objects of the tags that came with the clone of the repository
// of a submodule, each with a ^ for rev-list: the remote has them, though its branches
// may not reach them. A clone writes them into packed-refs, and after that the remote's
// HEAD and the first entry of HEAD's reflog. If packed-refs was written anew since, tags
// of the user may be in it, and there are none.
func clonedTags(p git.Dirs) []string {
	packed := filepath.Join(p.CommonDir, "packed-refs")
	written, err := os.Stat(packed)
	if err != nil {
		return nil
	}
	after, err := os.Stat(filepath.Join(p.CommonDir, "refs", "remotes", "origin", "HEAD"))
	if err != nil || written.ModTime().After(after.ModTime()) || written.ModTime().Add(-clockTick).Unix() > clonedAt(p) {
		return nil
	}
	content, err := plainfile.ReadFollowed(packed, maxLog)
	if err != nil {
		return nil
	}
	var tags []string
	for line := range strings.Lines(string(content)) {
		object, name, _ := strings.Cut(line, " ")
		if git.IsObjectID(object) && strings.HasPrefix(name, "refs/tags/") {
			tags = append(tags, "^"+object)
		}
	}
	return tags
}

// fetchedTags returns the objects of the tags that the last fetch brought (FETCH_HEAD, see
// git-fetch(1)). Those of earlier ones cannot be told from the user's own.
func fetchedTags(p git.Dirs) map[string]bool {
	tags := map[string]bool{}
	content, err := plainfile.ReadFollowed(filepath.Join(p.GitDir, "FETCH_HEAD"), maxLog)
	if err != nil {
		return tags
	}
	for line := range strings.Lines(string(content)) {
		object, what, _ := strings.Cut(line, "\tnot-for-merge\ttag ")
		if what != "" && git.IsObjectID(object) {
			tags[object] = true
		}
	}
	return tags
}

// shallow returns the commits whose parents were not fetched, each with a ^ for rev-list
// (gitrepository-layout(5)): they came from a remote. Of a submodule
// that is pinned at one, no remote-tracking branch need reach it.
func shallow(p git.Dirs) (commits []string) {
	content, err := plainfile.ReadFollowed(filepath.Join(p.CommonDir, "shallow"), maxLog)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(content)) {
		if commit := strings.TrimSuffix(line, "\n"); git.IsObjectID(commit) {
			commits = append(commits, "^"+commit)
		}
	}
	return commits
}

// clonedAt returns when git cloned the repository at p, in seconds since 1970, or 0 if
// its reflog does not tell.
func clonedAt(p git.Dirs) int64 {
	log, err := plainfile.ReadFollowed(filepath.Join(p.GitDir, "logs", "HEAD"), maxLog)
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(log), "\n")
	entry, message, _ := strings.Cut(line, "\t")
	fields := strings.Fields(entry) // the last two are the time and its zone
	if len(fields) < 4 || !strings.HasPrefix(message, "clone: from ") {
		return 0
	}
	at, _ := strconv.ParseInt(fields[len(fields)-2], 10, 64)
	return at
}
