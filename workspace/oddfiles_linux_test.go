package workspace_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/workspace"
)

// oddPlaces are files that git reads: in C, the repository's directory, and in G, that of
// the worktree.
var oddPlaces = []string{
	"G/HEAD", "C/HEAD", "C/packed-refs", "C/refs/heads/x", "C/refs/tags/deep/er/x", "G/refs/bisect/x", "C/refs/stash", "C/logs/refs/stash",
	"C/logs/HEAD", "G/logs/HEAD", "C/config", "G/config.worktree", "C/info/exclude", "C/info/attributes", "C/info/grafts",
	"C/objects/info/alternates", "C/objects/info/commit-graph", "C/objects/pack/multi-pack-index", "C/objects/TREE", "C/shallow", "G/index", "G/sharedindex.1",
	"G/ORIG_HEAD", "G/FETCH_HEAD", "G/MERGE_HEAD", "G/CHERRY_PICK_HEAD", "G/AUTO_MERGE", "G/commondir", "G/gitdir", "G/locked", "C/commondir",
	"C/worktrees/other/HEAD", "C/worktrees/other/gitdir", "C/worktrees/other/commondir", "G/rebase-merge/head-name", "G/rebase-merge/git-rebase-todo",
	"G/rebase-apply/head-name", "G/BISECT_LOG", "C/reftable/tables.list", "G/info/sparse-checkout",
}

var oddKinds = map[string]string{
	"a FIFO": `mkfifo $P`, "a link to a FIFO": `mkfifo $C/a-fifo; ln -s $C/a-fifo $P`, "a link to a device": `ln -s /dev/zero $P`,
	"nine gigabytes": `truncate -s 9G $P`, "a directory": `mkdir $P; touch $P/x`, "a loop": `ln -s $(basename $P) $P`,
}

// Whatever lies in the place of a file that git reads, every command on the workspace ends
// soon. It does its work, or names the file.
func TestOddGitFiles(t *testing.T) {
	for n, place := range oddPlaces {
		if n%3 > 0 && os.Getenv("MIDDLEMAN_LONG") == "" {
			continue // all of them are tried in a sandbox's directory, see package quarantine
		}
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			for m, kind := range []string{"a FIFO", "a link to a FIFO", "a link to a device", "nine gigabytes", "a directory", "a loop"} {
				// Each place is a FIFO; the other kinds take time, and some read gigabytes.
				if m > 0 && ((n/3+m)%4 > 0 || kind == "nine gigabytes") && os.Getenv("MIDDLEMAN_LONG") == "" {
					continue
				}
				testOddGitFile(t, place, kind)
			}
		})
	}
}

func testOddGitFile(t *testing.T, place, kind string) {
	ctx := context.Background()
	m, _ := newManager(t)
	repo := newRepo(t)
	w := create(t, m, request(repo, "w1"))
	write(t, w.Root+"/mine", "mine")
	runGit(t, w.Root, "add", "mine")
	runGit(t, w.Root, "commit", "-qm", "mine")
	runGit(t, w.Root, "remote", "add", "origin", repo)
	tree := runGit(t, w.Root, "rev-parse", "HEAD^{tree}")
	g := filepath.Join(w.GitDir, "worktrees", "w1")
	at := strings.NewReplacer("G/", g+"/", "C/", w.GitDir+"/", "TREE", tree[:2]+"/"+tree[2:]).Replace(place)
	cmd := exec.Command("sh", "-ec", `mkdir -p $(dirname $P); test ! -e $P || mv $P $C/was; `+oddKinds[kind])
	cmd.Env = append(os.Environ(), "P="+at, "C="+w.GitDir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	check := func(what string, limit time.Duration, f func() error) {
		began := time.Now()
		err := f()
		took := time.Since(began)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if took > limit {
			t.Errorf("%s is %s: %s took %v: %v", place, kind, what, took, err)
		}
		named := strings.Contains(text, filepath.Base(at)) || strings.Contains(text, "a-fifo") || strings.Contains(text, "is in progress")
		if err != nil && !named {
			t.Errorf("%s is %s: %s says %v", place, kind, what, err)
		}
	}
	const soon = 30 * time.Second // a second until git is looked after, and what a starved machine needs; a git that hangs has two minutes
	check("inspect", soon, func() error { _, err := m.Inspect(ctx, w); return err })
	check("status", soon, func() error {
		s, err := m.Status(ctx, w)
		if err == nil && s.Unknown != nil {
			err = errors.New(strings.Join(s.Unknown, " "))
		}
		return err
	})
	check("compare", soon, func() error {
		c, err := m.Compare(ctx, w, workspace.DiffRequest{})
		if err == nil {
			c.Close()
		}
		return err
	})
	check("merge", soon, func() error { _, err := m.Merge(ctx, w, workspace.MergeRequest{DryRun: true}); return err })
	check("push", soon, func() error { _, err := m.Push(ctx, w, workspace.PushRequest{DryRun: true}); return err })
	check("delete", 2*soon, func() error { _, err := m.Delete(ctx, w, true, nil); return err })
}
