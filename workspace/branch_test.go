package workspace_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"middleman/workspace"
)

// A branch whose name is a directory in the new one's, or the other way
// round, is named.
func TestBranchInWay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, existing, asked, branch string }{
		{"the prefix", "middleman", "", "middleman/fix"},
		{"above what was asked for", "main", "main/sub", "main/sub"},
		{"far above", "a", "a/b/c", "a/b/c"},
		{"below", "a/b", "a", "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t)
			if tc.existing != "main" {
				runGit(t, repo, "branch", tc.existing)
			}
			m, base := newManager(t)
			before := state(t, repo, base)
			r := request(repo, "w1")
			r.Branch = tc.asked
			_, err := m.Create(context.Background(), r, nil)
			got, ok := errors.AsType[*workspace.BranchInWayError](err)
			if !ok || !errors.Is(err, workspace.ErrBranchTaken) || got.By != tc.existing || got.Branch != tc.branch || !strings.Contains(err.Error(), "--branch") {
				t.Errorf("error %v", err)
			}
			if after := state(t, repo, base); after != before {
				t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// Names that git would take, and then read as another ref.
func TestBranchNameOfAnotherRef(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, base := newManager(t)
	before := state(t, repo, base)
	for _, name := range []string{"@", "HEAD", "refs/heads/q", "refs/q", "-q", "a..b", "a b", "a.lock"} {
		r := request(repo, "w1")
		r.Branch = name
		if _, err := m.Create(context.Background(), r, nil); !errors.Is(err, workspace.ErrBadName) || !strings.Contains(err.Error(), name) {
			t.Errorf("branch %q: %v", name, err)
		}
	}
	if after := state(t, repo, base); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
}
