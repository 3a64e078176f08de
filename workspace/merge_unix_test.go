//go:build unix

package workspace_test

import (
	"os"
	"strings"
	"testing"

	"middleman/workspace"
)

// A merge that git could not finish is refused before it begins: nothing is half merged.
func TestMergeWhereNothingCanBeWritten(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	for _, tt := range []struct{ name, closed, changed, names string }{
		{"a directory", "dir", "dir/f", "dir"},
		{"a directory above a new one", "dir", "dir/new/g", "dir"},
		{"the directory of the branch", ".git/refs/heads", "dir/f", "its ref"},
		{"the reflog", ".git/logs/refs/heads/main", "dir/f", "reflog"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := newManager(t)
			repo := newRepo(t)
			commit(t, repo, "dir/f", "1\n")
			w := create(t, m, request(repo, "w1"))
			commit(t, w.Root, "a.txt", "2\n")
			commit(t, w.Root, tt.changed, "2\n")
			closed := repo + "/" + tt.closed
			info, err := os.Stat(closed)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(closed, info.Mode().Perm()&^0o222); err != nil {
				t.Fatal(err)
			}
			untouched(t, w, repo, func() {
				for _, dry := range []bool{true, false} {
					if _, err := m.Merge(t.Context(), w, workspace.MergeRequest{DryRun: dry}); err == nil || !strings.Contains(err.Error(), tt.names) {
						t.Errorf("dry %v: %v", dry, err)
					}
				}
			})
			if err := os.Chmod(closed, info.Mode().Perm()); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Merge(t.Context(), w, workspace.MergeRequest{}); err != nil {
				t.Errorf("once it can be written to: %v", err)
			}
		})
	}
}
