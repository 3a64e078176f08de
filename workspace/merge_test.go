package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/workspace"
)

// mergeable is a workspace with two commits beyond main, which has one more too.
func mergeable(t *testing.T) (m *workspace.Manager, w workspace.Workspace, repo string) {
	t.Helper()
	m, _ = newManager(t)
	repo = newRepo(t)
	w = create(t, m, request(repo, "w1"))
	commit(t, w.Root, "new.txt", "1\n")
	commit(t, w.Root, "new.txt", "2\n")
	commit(t, repo, "main.txt", "main\n")
	return m, w, repo
}

// untouched checks that a function changes no ref, no file and no index.
func untouched(t *testing.T, w workspace.Workspace, repo string, do func()) {
	t.Helper()
	look := func() string {
		return runGit(t, repo, "for-each-ref") + runGit(t, repo, "status", "--porcelain", "--ignored") + treeState(t, repo) +
			runGit(t, w.Root, "status", "--porcelain", "--branch") + treeState(t, w.Root) + runGit(t, repo, "worktree", "list")
	}
	before := look()
	do()
	if after := look(); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}

func TestMerge(t *testing.T) {
	for _, tt := range []struct {
		strategy workspace.Strategy
		want     string // main's history, newest first
	}{
		{workspace.StrategyMerge, "Merge branch 'middleman/fix' into main"},
		{workspace.StrategyRebase, "Change new.txt\nChange new.txt\nChange main.txt"},
		{workspace.StrategySquash, "Squash branch 'middleman/fix'\nChange main.txt"},
	} {
		for _, where := range []string{"checked out", "checked out by a worktree", "not checked out"} {
			t.Run(string(tt.strategy)+", "+where, func(t *testing.T) {
				t.Parallel()
				m, w, repo := mergeable(t)
				checkout := repo
				switch where {
				case "not checked out":
					runGit(t, repo, "switch", "-qc", "elsewhere")
					checkout = ""
				case "checked out by a worktree":
					runGit(t, repo, "switch", "-qc", "elsewhere")
					checkout = filepath.Join(t.TempDir(), "main")
					runGit(t, repo, "worktree", "add", "-q", checkout, "main")
					checkout, _ = filepath.EvalSymlinks(checkout)
				}
				r := workspace.MergeRequest{Strategy: tt.strategy}
				dry := r
				dry.DryRun = true
				untouched(t, w, repo, func() {
					if got, err := m.Merge(t.Context(), w, dry); err != nil || got.Commits != 2 || got.Checkout != checkout {
						t.Errorf("dry run: %+v, %v", got, err)
					}
				})
				own := runGit(t, w.Root, "rev-parse", "HEAD")
				got, err := m.Merge(t.Context(), w, r)
				if err != nil {
					t.Fatal(err)
				}
				if now := runGit(t, repo, "rev-parse", "main"); got.After != now || got.Checkout != checkout || got.Commits != 2 || got.FastForward {
					t.Errorf("%+v, main is %s", got, now)
				}
				if log := runGit(t, repo, "log", "--first-parent", "--format=%s", "main"); !strings.HasPrefix(log, tt.want+"\n") {
					t.Errorf("history:\n%s", log)
				}
				if content := runGit(t, repo, "show", "main:new.txt") + runGit(t, repo, "show", "main:main.txt"); content != "2main" {
					t.Errorf("content: %q", content)
				}
				if checkout != "" {
					if status := runGit(t, checkout, "status", "--porcelain"); status != "" || runGit(t, checkout, "rev-parse", "HEAD") != got.After {
						t.Errorf("the checkout is behind:\n%s", status)
					}
				}
				if runGit(t, w.Root, "rev-parse", "HEAD") != own || runGit(t, w.Root, "status", "--porcelain") != "" {
					t.Error("the workspace changed")
				}
				runGit(t, repo, "fsck", "--strict", "--no-dangling")
				again, err := m.Merge(t.Context(), w, r)
				if err != nil || again.Commits != 0 || again.After != got.After {
					t.Errorf("once more: %+v, %v", again, err)
				}
			})
		}
	}
}

// A copy of a commit has its author, times, message and encoding.
func TestMergeKeepsCommits(t *testing.T) {
	m, w, repo := mergeable(t)
	write(t, w.Root+"/latin", "x\n")
	runGit(t, w.Root, "add", "-A")
	runGit(t, w.Root, "-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "--author", "Other <o@example.org>", "--date", "2020-02-02T02:02:02+0200", "-m", "sub\xe9ject\n\nbody\n\n  more")
	runGit(t, w.Root, "commit", "-q", "--allow-empty", "-m", "empty on purpose")
	commit(t, repo, "new.txt", "1\n") // as the first commit of the workspace: it is left out
	const format = "--format=%an %ae %ad %e %B"
	want := runGit(t, w.Root, "log", "-2", format)
	got, err := m.Merge(t.Context(), w, workspace.MergeRequest{Strategy: workspace.StrategyRebase})
	if err != nil {
		t.Fatal(err)
	}
	if log := runGit(t, repo, "log", "-2", format, "main"); log != want {
		t.Errorf("got\n%s\nwant\n%s", log, want)
	}
	if n := runGit(t, repo, "rev-list", "--count", got.Before+".."+got.After); n != "3" {
		t.Errorf("%s commits", n)
	}
}

func TestMergeFastForward(t *testing.T) {
	m, _ := newManager(t)
	repo := newRepo(t)
	w := create(t, m, request(repo, "w1"))
	commit(t, w.Root, "new.txt", "1\n")
	got, err := m.Merge(t.Context(), w, workspace.MergeRequest{})
	if err != nil || !got.FastForward || got.After != got.Head || runGit(t, repo, "rev-parse", "HEAD") != got.Head {
		t.Errorf("%+v, %v", got, err)
	}
	runGit(t, repo, "branch", "other", "HEAD~1")
	squashed, err := m.Merge(t.Context(), w, workspace.MergeRequest{Into: "other", Strategy: workspace.StrategySquash, Message: "mine"})
	if err != nil || runGit(t, repo, "log", "-1", "--format=%s", "other") != "mine" {
		t.Errorf("%+v, %v", squashed, err)
	}
}

// What a merge would lose, or cannot do, it refuses, and nothing has changed.
func TestMergeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		make  func(t *testing.T, w workspace.Workspace, repo string)
		r     workspace.MergeRequest
		is    error
		names string
	}{
		{"changed", func(t *testing.T, w workspace.Workspace, _ string) { write(t, w.Root+"/a.txt", "x") }, workspace.MergeRequest{}, workspace.ErrUncommitted, "a.txt"},
		{"staged", func(t *testing.T, w workspace.Workspace, _ string) {
			write(t, w.Root+"/a.txt", "x")
			runGit(t, w.Root, "add", "-A")
		}, workspace.MergeRequest{}, workspace.ErrUncommitted, "a.txt"},
		{"untracked", func(t *testing.T, w workspace.Workspace, _ string) { write(t, w.Root+"/dir/u", "x") }, workspace.MergeRequest{}, workspace.ErrUncommitted, "dir/u"},
		{"conflict", func(t *testing.T, _ workspace.Workspace, repo string) { commit(t, repo, "new.txt", "other\n") }, workspace.MergeRequest{}, workspace.ErrConflict, "new.txt"},
		{"conflict of a rebase", func(t *testing.T, _ workspace.Workspace, repo string) { commit(t, repo, "new.txt", "other\n") }, workspace.MergeRequest{Strategy: workspace.StrategyRebase}, workspace.ErrConflict, "new.txt"},
		{"changes where main is", func(t *testing.T, _ workspace.Workspace, repo string) { write(t, repo+"/new.txt", "the user's\n") }, workspace.MergeRequest{}, workspace.ErrInUse, "new.txt"},
		{"ignored where main is", func(t *testing.T, _ workspace.Workspace, repo string) {
			write(t, repo+"/.git/info/exclude", "new.txt\n")
			write(t, repo+"/new.txt", "the user's\n")
		}, workspace.MergeRequest{}, workspace.ErrInUse, "not committed"},
		{"a directory where main is", func(t *testing.T, _ workspace.Workspace, repo string) {
			write(t, repo+"/new.txt/inner", "the user's\n")
		}, workspace.MergeRequest{}, workspace.ErrInUse, "not committed"},
		{"a rebase where main is", func(t *testing.T, _ workspace.Workspace, repo string) {
			if err := os.Mkdir(repo+"/.git/sequencer", 0o700); err != nil {
				t.Fatal(err)
			}
		}, workspace.MergeRequest{}, workspace.ErrInUse, "in progress"},
		{"filters where main is", func(t *testing.T, _ workspace.Workspace, repo string) {
			runGit(t, repo, "config", "filter.x.smudge", "cat")
		}, workspace.MergeRequest{}, workspace.ErrInUse, "--filters"},
		{"main checked out where nothing is", func(t *testing.T, _ workspace.Workspace, repo string) {
			runGit(t, repo, "switch", "-qc", "elsewhere")
			gone := filepath.Join(t.TempDir(), "gone")
			runGit(t, repo, "worktree", "add", "-q", gone, "main")
			if err := os.RemoveAll(gone); err != nil {
				t.Fatal(err)
			}
		}, workspace.MergeRequest{}, workspace.ErrInUse, "git worktree prune"},
		{"a branch that is locked", func(t *testing.T, _ workspace.Workspace, repo string) {
			write(t, repo+"/.git/refs/heads/main.lock", "")
		}, workspace.MergeRequest{}, workspace.ErrInUse, "main.lock"},
		{"a HEAD that is locked", func(t *testing.T, _ workspace.Workspace, repo string) { write(t, repo+"/.git/HEAD.lock", "") }, workspace.MergeRequest{}, workspace.ErrInUse, "HEAD.lock"},
		{"own branch", nil, workspace.MergeRequest{Into: "middleman/fix"}, workspace.ErrBadBase, "itself"},
		{"no such branch", nil, workspace.MergeRequest{Into: "none"}, workspace.ErrBadBase, "--into"},
		{"detached", func(t *testing.T, w workspace.Workspace, _ string) { runGit(t, w.Root, "switch", "-q", "--detach") }, workspace.MergeRequest{}, workspace.ErrBadRequest, "no branch"},
		{"operation", func(t *testing.T, w workspace.Workspace, _ string) { runGit(t, w.Root, "bisect", "start") }, workspace.MergeRequest{}, workspace.ErrBadRequest, "bisect"},
		{"another commit", nil, workspace.MergeRequest{Head: strings.Repeat("1", 40)}, workspace.ErrCommitted, "check"},
		{"merges in a rebase", func(t *testing.T, w workspace.Workspace, _ string) {
			runGit(t, w.Root, "merge", "-q", "main")
			commit(t, w.Repository, "later", "1\n")
		}, workspace.MergeRequest{Strategy: workspace.StrategyRebase}, workspace.ErrBadRequest, "--squash"},
		{"strategy", nil, workspace.MergeRequest{Strategy: "octopus"}, workspace.ErrBadRequest, "octopus"},
		{"no history in common", func(t *testing.T, _ workspace.Workspace, repo string) {
			runGit(t, repo, "branch", "other", runGit(t, repo, "commit-tree", "-m", "root", "HEAD^{tree}"))
		}, workspace.MergeRequest{Into: "other"}, workspace.ErrBadRequest, "in common"},
		{"another name", func(t *testing.T, _ workspace.Workspace, repo string) {
			runGit(t, repo, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
		}, workspace.MergeRequest{Into: "alias"}, workspace.ErrBadBase, "another name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, w, repo := mergeable(t)
			if tt.make != nil {
				tt.make(t, w, repo)
			}
			untouched(t, w, repo, func() {
				got, err := m.Merge(t.Context(), w, tt.r)
				if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.names) {
					t.Errorf("%+v, %v", got, err)
				}
			})
		})
	}
}

// A filter may store files in another form than the checkout has. Without consent to run
// it nobody can tell that such a file is committed; with it, both checkouts are judged by
// what is stored.
func TestMergeFilters(t *testing.T) {
	t.Parallel()
	m, w, repo := mergeable(t)
	runGit(t, repo, "config", "filter.upper.clean", "tr a-z A-Z")
	runGit(t, repo, "config", "filter.upper.smudge", "tr A-Z a-z")
	commit(t, w.Root, ".gitattributes", "*.up filter=upper\n")
	commit(t, w.Root, "note.up", "some text\n")
	runGit(t, repo, "merge", "-q", "--no-edit", w.Branch)
	commit(t, w.Root, "note.up", "other text\n")
	for _, dir := range []string{repo, w.Root} {
		// The time that the index has of the file is not that of the file, so git reads it.
		if err := os.Chtimes(dir+"/note.up", time.Now(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Merge(t.Context(), w, workspace.MergeRequest{}); !errors.Is(err, workspace.ErrUncommitted) {
		t.Errorf("without filters: %v", err)
	}
	dry := workspace.MergeRequest{Filters: true, DryRun: true}
	write(t, w.Root+"/note.up", "not committed\n")
	if _, err := m.Merge(t.Context(), w, dry); !errors.Is(err, workspace.ErrUncommitted) {
		t.Errorf("changed: %v", err)
	}
	write(t, w.Root+"/note.up", "other text\n")
	write(t, repo+"/note.up", "not committed\n")
	if _, err := m.Merge(t.Context(), w, dry); !errors.Is(err, workspace.ErrInUse) {
		t.Errorf("changed where it goes: %v", err)
	}
	write(t, repo+"/note.up", "some text\n")
	if _, err := m.Merge(t.Context(), w, workspace.MergeRequest{Filters: true}); err != nil {
		t.Fatal(err)
	}
	stored := runGit(t, repo, "show", "HEAD:note.up")
	if text, err := os.ReadFile(repo + "/note.up"); err != nil || stored != "OTHER TEXT" || string(text) != "other text\n" {
		t.Errorf("stored is %q, checked out %q, %v", stored, text, err)
	}
}

// Where git fails with some files of the checkout changed, as by a filter that the user
// requires, the error names these.
func TestMergeHalfway(t *testing.T) {
	const setting = "GIT_CONFIG_GLOBAL"
	settings, err := os.ReadFile(os.Getenv(setting))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config")
	write(t, file, string(settings)+"\n[filter \"big\"]\n\trequired = true\n\tclean = cat\n\tsmudge = false\n")
	t.Setenv(setting, file)
	m, w, repo := mergeable(t)
	commit(t, w.Root, ".gitattributes", "*.big filter=big\n")
	commit(t, w.Root, "x.big", "1\n")
	before := runGit(t, repo, "rev-parse", "main")
	_, err = m.Merge(t.Context(), w, workspace.MergeRequest{})
	if err == nil || !strings.Contains(err.Error(), "git has changed files in "+repo+" before that: ") || !strings.Contains(err.Error(), "new.txt") {
		t.Errorf("%v", err)
	}
	if after := runGit(t, repo, "rev-parse", "main"); after != before {
		t.Errorf("main is at %s", after)
	}
}

// A merge that has a file where a repository is in the checkout, or above it, is refused
// if there is something in it; git would remove all that only that repository has.
func TestMergeOverRepositories(t *testing.T) {
	for _, tt := range []struct {
		name    string
		full    bool                                // the repository in the checkout is there
		change  func(t *testing.T, worktree string) // of the workspace
		refused bool
	}{
		{"a file", true, func(t *testing.T, at string) { write(t, at+"/deep/s", "file\n") }, true},
		{"a link", true, func(t *testing.T, at string) {
			if err := os.Symlink("elsewhere", at+"/deep/s"); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"a file above", true, func(t *testing.T, at string) {
			if err := os.Remove(at + "/deep"); err != nil {
				t.Fatal(err)
			}
			write(t, at+"/deep", "file\n")
		}, true},
		{"nothing", true, func(*testing.T, string) {}, false},
		{"a file where no repository is", false, func(t *testing.T, at string) { write(t, at+"/deep/s", "file\n") }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, _ := newManager(t)
			repo := newRepo(t)
			inner := filepath.Join(repo, "deep", "s")
			runGit(t, repo, "init", "-q", inner)
			commit(t, inner, "own", "own\n")
			runGit(t, repo, "add", "deep/s")
			runGit(t, repo, "commit", "-qm", "add s")
			w := create(t, m, request(repo, "w1"))
			runGit(t, w.Root, "rm", "-q", "--cached", "deep/s")
			if err := os.Remove(w.Root + "/deep/s"); err != nil {
				t.Fatal(err)
			}
			tt.change(t, w.Root)
			runGit(t, w.Root, "add", "-A")
			runGit(t, w.Root, "commit", "-qm", "no s")
			if !tt.full {
				if err := errors.Join(os.RemoveAll(inner), os.Mkdir(inner, 0o700)); err != nil {
					t.Fatal(err)
				}
			}
			for _, dry := range []bool{true, false} {
				_, err := m.Merge(t.Context(), w, workspace.MergeRequest{DryRun: dry})
				if !tt.refused && err != nil || tt.refused && (!errors.Is(err, workspace.ErrInUse) || !strings.Contains(err.Error(), "deep/s")) {
					t.Errorf("dry %v: %v", dry, err)
				}
			}
			if _, err := os.Lstat(inner + "/own"); tt.full && err != nil {
				t.Error(err)
			}
		})
	}
}

// Changes in other files stay where main is checked out.
func TestMergeCarriesOtherChanges(t *testing.T) {
	m, w, repo := mergeable(t)
	write(t, repo+"/a.txt", "the user's\n")
	write(t, repo+"/mine", "the user's\n")
	runGit(t, repo, "add", "mine")
	if _, err := m.Merge(t.Context(), w, workspace.MergeRequest{}); err != nil {
		t.Fatal(err)
	}
	if status := runGit(t, repo, "status", "--porcelain"); status != "M a.txt\nA  mine" {
		t.Errorf("status: %q", status)
	}
}

// A repository's hooks, merge drivers and options run nothing, where its
// branch is checked out too.
func TestMergeOfHostileRepository(t *testing.T) {
	m, w, repo := mergeable(t)
	trap := filepath.Join(t.TempDir(), "ran")
	touch := "touch " + trap
	for _, hook := range []string{"post-merge", "pre-merge-commit", "reference-transaction", "post-checkout", "post-index-change", "prepare-commit-msg"} {
		write(t, repo+"/.git/hooks/"+hook, "#!/bin/sh\n"+touch+"\n")
		if err := os.Chmod(repo+"/.git/hooks/"+hook, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string]string{
		"merge.evil.driver": touch, "branch.main.mergeOptions": "--no-ff -s evil", "gpg.program": touch, "commit.gpgSign": "true",
		"core.fsmonitor": touch, "merge.verifySignatures": "true", "core.editor": touch, "diff.external": touch, "alias.merge": "!" + touch,
		"core.sshCommand": touch, "pull.twohead": "evil", "merge.autoStash": "true",
	} {
		runGit(t, repo, "-c", "core.fsmonitor=false", "config", key, value)
	}
	write(t, repo+"/.git/info/attributes", "* merge=evil diff=evil\n")
	if err := os.Remove(trap); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, strategy := range []workspace.Strategy{workspace.StrategyMerge, workspace.StrategySquash} {
		if got, err := m.Merge(t.Context(), w, workspace.MergeRequest{Strategy: strategy}); err != nil {
			t.Errorf("%s: %+v, %v", strategy, got, err)
		}
		if _, err := os.Stat(trap); err == nil {
			t.Fatalf("%s ran a program of the repository", strategy)
		}
	}
}

// Of workspaces that are merged into one branch at once each lands, or is
// refused; none is lost.
func TestMergesAtOnce(t *testing.T) {
	for _, out := range []bool{true, false} {
		t.Run(fmt.Sprintf("checked out %v", out), func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			repo := newRepo(t)
			const n = 4
			var list []workspace.Workspace
			for i := range n {
				r := request(repo, fmt.Sprintf("w%d", i))
				w := create(t, m, r)
				commit(t, w.Root, fmt.Sprintf("file%d", i), "x\n")
				list = append(list, w)
			}
			if !out {
				runGit(t, repo, "switch", "-qc", "elsewhere")
			}
			var errs [n]error
			var all sync.WaitGroup
			for i, w := range list {
				all.Go(func() {
					other := workspace.New(workspace.Options{Base: base})
					_, errs[i] = other.Merge(context.Background(), w, workspace.MergeRequest{})
				})
			}
			all.Wait()
			landed := 0
			for i, err := range errs {
				_, there := tryGit(repo, "cat-file", "-e", fmt.Sprintf("main:file%d", i))
				if (err == nil) != (there == nil) {
					t.Errorf("workspace %d: %v, and its file: %v", i, err, there)
				}
				if err == nil {
					landed++
				}
			}
			if landed == 0 {
				t.Errorf("none landed: %v", errs)
			}
			if status := runGit(t, repo, "status", "--porcelain"); status != "" {
				t.Errorf("status:\n%s", status)
			}
		})
	}
}
