package workspace_test

import (
	"context"
	"errors"
	"testing"

	"middleman/workspace"
)

// Commits whose changes are all in the base, by other commits, are no reason to refuse a
// delete, and come back. Commits without changes, or with others besides, are.
func TestDeleteOfMerged(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name    string
		do      func(t *testing.T, m *workspace.Manager, w workspace.Workspace, repo string)
		refused bool
	}{
		{"squashed", func(t *testing.T, m *workspace.Manager, w workspace.Workspace, repo string) {
			if _, err := m.Merge(ctx, w, workspace.MergeRequest{Strategy: workspace.StrategySquash}); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"rebased, and main has gone on", func(t *testing.T, m *workspace.Manager, w workspace.Workspace, repo string) {
			if _, err := m.Merge(ctx, w, workspace.MergeRequest{Strategy: workspace.StrategyRebase}); err != nil {
				t.Fatal(err)
			}
			commit(t, repo, "later.txt", "later\n")
		}, false},
		{"squashed on a forge", func(t *testing.T, _ *workspace.Manager, w workspace.Workspace, repo string) {
			runGit(t, repo, "switch", "-qc", "forge")
			runGit(t, repo, "merge", "-q", "--squash", w.Branch)
			runGit(t, repo, "commit", "-qm", "squashed")
			runGit(t, repo, "update-ref", "refs/remotes/origin/main", "forge")
			runGit(t, repo, "switch", "-q", "main")
			runGit(t, repo, "branch", "-qD", "forge")
			runGit(t, repo, "config", "remote.origin.url", "https://example.org/x")
			runGit(t, repo, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
			runGit(t, repo, "branch", "-q", "--set-upstream-to=origin/main", "main")
		}, false},
		{"squashed, and one more since", func(t *testing.T, m *workspace.Manager, w workspace.Workspace, repo string) {
			if _, err := m.Merge(ctx, w, workspace.MergeRequest{Strategy: workspace.StrategySquash}); err != nil {
				t.Fatal(err)
			}
			commit(t, w.Root, "more.txt", "more\n")
		}, true},
		{"not merged", func(*testing.T, *workspace.Manager, workspace.Workspace, string) {}, true},
		{"taken back by themselves", func(t *testing.T, _ *workspace.Manager, w workspace.Workspace, _ string) {
			runGit(t, w.Root, "rm", "-q", "new.txt")
			runGit(t, w.Root, "commit", "-qm", "nothing is left")
		}, true},
		{"squashed, and main took it back", func(t *testing.T, m *workspace.Manager, w workspace.Workspace, repo string) {
			if _, err := m.Merge(ctx, w, workspace.MergeRequest{Strategy: workspace.StrategySquash}); err != nil {
				t.Fatal(err)
			}
			runGit(t, repo, "rm", "-q", "new.txt")
			runGit(t, repo, "commit", "-qm", "not that")
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, w, repo := mergeable(t)
			tt.do(t, m, w, repo)
			head := runGit(t, w.Root, "rev-parse", "HEAD")
			loss, err := m.Delete(ctx, w, false, nil)
			if _, refused := errors.AsType[*workspace.WorkError](err); refused != tt.refused || err != nil && !refused {
				t.Fatalf("the delete is refused: %v, %v, want %v", refused, err, tt.refused)
			}
			if tt.refused {
				return
			}
			if len(loss.Merged) < 2 || !loss.Empty() || !loss.Restorable {
				t.Errorf("lost: %+v", loss)
			}
			restored, _, err := m.Restore(ctx, w, nil)
			if err != nil {
				t.Fatal(err)
			}
			if now := runGit(t, restored.Root, "rev-parse", "HEAD"); now != head {
				t.Errorf("restored at %s, want %s", now, head)
			}
		})
	}
}
