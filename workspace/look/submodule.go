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
	"strings"

	"middleman/internal/git"
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
	from := []string{"--branches"}
	if head != "" {
		from = append(from, head)
	}
	name := filepath.Base(p.GitDir)
	if err := l.history(ctx, p, &l.loss.Commits, append(from, "--not", "--remotes"), name+": %h %s"); err != nil {
		return err
	}
	stash, err := p.Ref(ctx, "refs/stash")
	if err != nil || stash == "" {
		return err
	}
	return l.history(ctx, p, &l.loss.Stashed, []string{"--walk-reflogs", "refs/stash"}, name+": stash: %s")
}
