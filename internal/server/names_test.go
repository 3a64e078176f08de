//go:build linux || darwin

package server_test

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/workspace"
)

// Routes take names too. A name that workspaces of two repositories have is
// refused, and the label of the first one changes with the second.
func TestNames(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	first := r.workspace("fix", nil)
	if first.Label != "fix" || first.RepoName != filepath.Base(p.repository) {
		t.Errorf("%+v", first)
	}
	if got := get[api.Workspace](r, "GET", "/workspaces/fix", nil); got.ID != first.ID {
		t.Errorf("by name: %+v", got)
	}
	other := filepath.Join(t.TempDir(), "other")
	git(t, filepath.Dir(other), "clone", "-q", p.repository, other)
	events := r.events(t, "", "")
	second := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: "fix", Directory: other}).Workspace
	if second.Name != "fix" || second.Label != "fix@other" {
		t.Errorf("%+v", second)
	}
	events.until(func(e api.Event) bool {
		return e.Workspace != nil && e.ID == first.ID && e.Workspace.Label == "fix@"+first.RepoName
	})
	a := r.call("GET", "/workspaces/fix", nil)
	if problem := a.problem(t); a.status != 409 || problem.Code != api.CodeAmbiguous || !strings.Contains(problem.Detail, "fix@"+first.RepoName+", fix@other") {
		t.Errorf("%d %+v", a.status, problem)
	}
	for _, label := range []string{"fix@other", "fix@" + filepath.Base(filepath.Dir(other)) + "/other"} {
		if got := get[api.Workspace](r, "GET", "/workspaces/"+url.PathEscape(label), nil); got.ID != second.ID {
			t.Errorf("by %s: %+v", label, got)
		}
	}
	if a := r.call("GET", "/workspaces/nobody", nil); a.status != 404 {
		t.Errorf("%d %s", a.status, a.body)
	}
	taken := r.call("POST", "/workspaces", api.NewWorkspace{Name: "fix", Directory: other})
	if problem := taken.problem(t); taken.status != 409 || problem.Code != api.CodeNameTaken {
		t.Errorf("%d %+v", taken.status, problem)
	}
	third := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: "fix", Suffix: true, Directory: other}).Workspace
	if third.Name != "fix-2" || third.Mode != workspace.ModeWorktree {
		t.Errorf("%+v", third)
	}
	get[api.Workspace](r, "GET", "/workspaces/fix@other?wait=60s", nil)
	events = r.events(t, "", "")
	get[api.Deleted](r, "DELETE", "/workspaces/fix@other", nil)
	events.until(func(e api.Event) bool { return e.Workspace != nil && e.ID == first.ID && e.Workspace.Label == "fix" })
}
