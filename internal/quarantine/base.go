package quarantine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/workspace/model"
)

// maxIndex bounds the size of an index.
const maxIndex = 1 << 30

// RefsOf returns the beginning of the refs that keep what came out of the sandbox of a
// workspace, and what it is based on.
func RefsOf(id string) string { return "refs/middleman/sandbox/" + id + "/" }

func baseRef(id string) string { return RefsOf(id) + "base" }

// pinBase makes one commit reachable that has all branches and tags as parents, and the
// staged files as its tree. So no garbage collection of the user's takes an object that
// the sandbox may need, whatever the user deletes meanwhile.
func (s site) pinBase(ctx context.Context, w model.Workspace, all refs, staged string) error {
	p := git.Whole(s.CommonDir)
	var parents []string
	if err := p.Kinds(ctx, all.distinct(), func(object, kind string) {
		if kind == "commit" {
			parents = append(parents, object)
		}
	}); err != nil {
		return err
	}
	if staged == "" {
		var err error
		if staged, err = p.MakeTree(ctx, ""); err != nil {
			return err
		}
	}
	slices.Sort(parents)
	var text strings.Builder
	fmt.Fprintf(&text, "tree %s\n", staged)
	for _, parent := range slices.Compact(parents) {
		fmt.Fprintf(&text, "parent %s\n", parent)
	}
	const by = "middleman <middleman@localhost> 0 +0000" // the same state is the same commit
	fmt.Fprintf(&text, "author %s\ncommitter %s\n\nWhat the sandbox of workspace %s is based on\n", by, by, w.ID)
	commit, err := p.Store(ctx, "commit", strings.NewReader(text.String()))
	if err != nil {
		return err
	}
	before, err := p.Ref(ctx, baseRef(w.ID))
	if err != nil || before == commit {
		return err
	}
	c := p.Alter("update-ref", "--no-deref", baseRef(w.ID), commit, before)
	c.Config = git.Durable
	_, err = c.Run(ctx)
	return err
}

// hostTree stores the tree of what is staged on the user's side, and returns its name, or
// "" if the index has conflicts. It works on a copy of the index.
func (q *Quarantine) hostTree(ctx context.Context, s site) (string, error) {
	dir, err := os.MkdirTemp(q.dir, tempName)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	index := filepath.Join(dir, "index")
	from, err := os.OpenRoot(s.GitDir)
	if err != nil {
		return "", err
	}
	defer from.Close()
	if err := copyIndex(from, "index", index); err != nil {
		return "", err
	}
	p := s.Dirs
	p.Index = index
	return treeOf(ctx, p.Alter("write-tree"))
}

// copyIndex copies an index. Without one, nothing is staged, and there is no copy.
func copyIndex(from *os.Root, name, to string) error {
	file, info, err := plainfile.Open(from, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if info.Size() > maxIndex {
		return fmt.Errorf("%s/%s has more than %d bytes: %w", from.Name(), name, int64(maxIndex), plainfile.ErrRefused)
	}
	copied, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(copied, io.LimitReader(file, info.Size()))
	return errors.Join(err, copied.Close())
}

// treeOf runs c, a write-tree, and returns the tree, or "" if the index has conflicts.
func treeOf(ctx context.Context, c git.Command) (string, error) {
	var said bytes.Buffer
	c.Errors = &limited{to: &said}
	tree, err := c.Line(ctx)
	if err != nil && strings.Contains(said.String(), ": unmerged (") {
		return "", nil
	}
	if err == nil && !git.IsObjectID(tree) {
		err = c.Odd(tree)
	}
	return tree, err
}

// limited keeps the first 64 KiB of what is written to it.
type limited struct{ to *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	const most = 64 << 10
	l.to.Write(p[:min(len(p), max(0, most-l.to.Len()))])
	return len(p), nil
}
