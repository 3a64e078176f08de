package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// branches restores the branches of the workspace and of its HEAD at their old
// commits. If a branch is at another commit by now, or checked out elsewhere,
// it belongs to someone else. Then branches takes the next free name with a
// number.
func (r *restoration) branches(ctx context.Context) error {
	r.renamed = map[string]string{}
	trees, err := r.repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	busy := map[string]bool{}
	for _, tree := range trees {
		busy[tree.Branch] = tree.Path != r.w.Root
	}
	for i, b := range []branch{r.snap.Branch, r.snap.Head} {
		if b.Name == "" || r.renamed[b.Name] != "" || i == 1 && b.Name == r.snap.Branch.Name {
			continue
		}
		if b.Commit == "" && b.Name != r.snap.Head.Name {
			continue // it did not exist before the delete
		}
		now, err := r.branch(ctx, b, busy)
		if err != nil {
			return err
		}
		if now != b.Name {
			r.renamed[b.Name] = now
			r.notes = append(r.notes, fmt.Sprintf("the branch %s belongs to something else now, so the workspace is on branch %s", plaintext.Quoted(b.Name), plaintext.Quoted(now)))
		}
	}
	if now := r.renamed[r.w.Branch]; now != "" {
		r.w.Branch, r.w.OwnBranch = now, true
	}
	return nil
}

// branch restores b under the first name that is free or still at b.Commit.
func (r *restoration) branch(ctx context.Context, b branch, busy map[string]bool) (string, error) {
	for n := 1; n <= model.MaxSuffix; n++ {
		name := b.Name
		if n > 1 {
			name = fmt.Sprintf("%s-%d", b.Name, n)
		}
		if busy["refs/heads/"+name] {
			continue
		}
		now, err := r.repo.Ref(ctx, "refs/heads/"+name)
		if err != nil {
			return "", err
		}
		others := false
		if now != "" && now == b.Commit {
			log, err := r.repo.BranchLog(ctx, name)
			if err != nil {
				return "", err
			}
			others = strings.HasPrefix(log.Note, model.MadeFor("")) && log.Note != model.MadeFor(r.w.ID)
		}
		switch {
		case others:
			continue // another workspace is about to check it out
		case now == b.Commit:
			return name, r.finishMade(ctx, b, name) // unchanged, or it never had a commit
		case now != "" || b.Commit == "":
			continue
		}
		made, err := r.repo.MakeBranch(ctx, name, b.Commit, model.MadeFor(r.w.ID))
		if _, inWay := errors.AsType[*git.BranchInWayError](err); inWay || err == nil && !made {
			continue
		}
		if err != nil {
			return "", err
		}
		r.undo = append(r.undo, func(ctx context.Context) error {
			_, err := r.repo.DropBranch(ctx, name, b.Commit)
			return err
		})
		return name, r.finishBranch(ctx, b, name)
	}
	return "", fmt.Errorf("branch %s and %d more with a number: %w", plaintext.Quoted(b.Name), model.MaxSuffix-1, model.ErrBranchTaken)
}

// finishMade is finishBranch for a branch that an interrupted restore made.
func (r *restoration) finishMade(ctx context.Context, b branch, name string) error {
	if b.Commit == "" {
		return nil
	}
	log, err := r.repo.BranchLog(ctx, name)
	if err != nil || !log.Only || log.Note != model.MadeFor(r.w.ID) || log.Commit != b.Commit {
		return err
	}
	return r.finishBranch(ctx, b, name)
}

// finishBranch gives a branch that we made its old configuration and reflog.
func (r *restoration) finishBranch(ctx context.Context, b branch, name string) error {
	has, err := branchConfig(ctx, r.repo, name)
	if err != nil {
		return err
	}
	config, notes := b.own()
	r.notes = append(r.notes, notes...)
	for _, s := range config {
		s.Key = []byte("branch." + name + string(s.Key[len("branch."+b.Name):]))
		if slices.ContainsFunc(has, func(h setting) bool { return string(h.Key) == string(s.Key) && string(h.Value) == string(s.Value) }) {
			continue
		}
		if _, err := r.repo.Alter("config", "--local", "--add", string(s.Key), string(s.Value)).Run(ctx); err != nil {
			return err
		}
	}
	if b.Reflog == "" {
		return nil
	}
	log := reflogOf(r.repo, name)
	dir, err := os.OpenRoot(filepath.Dir(log))
	if err != nil {
		return err
	}
	defer dir.Close()
	// The directory must always hold a file: a git that deletes another branch
	// removes an empty directory. git reads no file that ends with .lock as a
	// reflog.
	beside := filepath.Base(log) + ".middleman.lock"
	if err := dir.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = writeFiles(ctx, r.repo, dir, []file{{Path: []byte(beside), Mode: 0o644, Time: r.snap.Made, Blob: b.Reflog}}, silently)
	if err != nil {
		return err
	}
	return dir.Rename(beside, filepath.Base(log))
}

// branchConfig returns the settings of a branch in the repository's
// configuration.
func branchConfig(ctx context.Context, p git.Dirs, name string) (list []setting, err error) {
	c := p.Look("config", "--local", "--null", "--get-regexp", `^branch\.`)
	c.Each = func(record string) {
		key, value, _ := strings.Cut(record, "\n")
		variable, is := strings.CutPrefix(key, "branch."+name+".")
		if is && isVariable(variable) { // else the setting belongs to a branch whose name continues with a dot
			list = append(list, setting{[]byte(key), []byte(value)})
		}
	}
	if _, err := c.Run(ctx); err != nil && git.ExitCode(err) != 1 { // status 1: there is no such setting
		return nil, err
	}
	return list, nil
}
