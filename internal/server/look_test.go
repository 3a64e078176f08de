//go:build linux || darwin

package server_test

import (
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/workspace"
)

func TestDiffRoutes(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", nil)
	write(t, filepath.Join(w.Root, "file"), "changed\n")
	write(t, filepath.Join(w.Root, "new"), strings.Repeat("line\n", 1000))
	path := "/workspaces/" + w.ID + "/diff"

	diff := get[workspace.Diff](r, "GET", path, nil)
	if len(diff.Files) != 2 || diff.Against != workspace.AgainstMergeBase || diff.Added != 1001 || !diff.Files[1].Untracked {
		t.Errorf("%+v", diff)
	}
	if diff := get[workspace.Diff](r, "GET", path+"?tracked=1&path=new&path=file", nil); len(diff.Files) != 1 || diff.Files[0].Path != "file" {
		t.Errorf("tracked: %+v", diff)
	}
	a := r.call("GET", path+"?format=patch", nil)
	if a.status != 200 || a.header.Get("Content-Type") != "text/x-diff" || !strings.Contains(string(a.body), "+changed\n") || a.header.Get("Middleman-Commit") != w.BaseCommit {
		t.Errorf("patch: %d %v\n%s", a.status, a.header, a.body)
	}
	c := client.New(p.dirs.ServerSocket())
	defer c.Close()
	var text strings.Builder
	leftOut, err := c.Patch(t.Context(), w.ID, client.DiffQuery{Max: 500}, &text)
	if err != nil || text.Len() > 500 || int(leftOut)+text.Len() != len(a.body) {
		t.Errorf("bounded: %d bytes and %d left out of %d, %v", text.Len(), leftOut, len(a.body), err)
	}
	for _, tc := range []struct {
		query  string
		status int
		code   string
	}{
		{"?against=upstream", 422, "nothing-to-compare"},
		{"?against=upstream&format=patch", 422, "nothing-to-compare"},
		{"?path=../x&format=patch", 422, api.CodeBadRequest},
		{"?against=nothing", 422, ""},
	} {
		if got := r.call("GET", path+tc.query, nil); got.status != tc.status || tc.code != "" && got.problem(t).Code != tc.code {
			t.Errorf("%s: %d %s", tc.query, got.status, got.body)
		}
	}
	if got := r.call("GET", "/workspaces/none/diff", nil); got.status != 404 {
		t.Errorf("none: %d", got.status)
	}
}

func TestCommitsAndConflictsRoutes(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", nil)
	other := r.workspace("other", nil)
	r.workspace("third", nil)
	for i, of := range []api.Workspace{w, other} {
		write(t, filepath.Join(of.Root, "file"), strings.Repeat("x", i+1)+"\n")
		git(t, of.Root, "commit", "-q", "-a", "-m", "Change it")
	}
	list := get[workspace.Commits](r, "GET", "/workspaces/"+w.ID+"/commits", nil)
	if list.Ahead != 1 || len(list.Commits) != 1 || list.Commits[0].Subject != "Change it" {
		t.Errorf("%+v", list)
	}
	if list := get[workspace.Commits](r, "GET", "/workspaces/"+w.ID+"/commits?side=behind", nil); len(list.Commits) != 0 || list.Side != "behind" {
		t.Errorf("%+v", list)
	}
	c := client.New(p.dirs.ServerSocket())
	defer c.Close()
	all, err := c.Conflicts(t.Context(), w.ID, func(int, int) {})
	if err != nil || len(all.Others) != 2 || all.Total != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	merges := map[string]string{}
	for _, f := range all.Others {
		merges[f.Workspace] = f.Merge + " " + strings.Join(f.Conflicts, ",")
	}
	if merges["other"] != "conflict file" || merges["third"] != "clean " {
		t.Errorf("%v", merges)
	}
	page := get[api.Conflicts](r, "GET", "/workspaces/"+w.ID+"/conflicts?limit=1", nil)
	if len(page.Others) != 1 || page.Next == "" {
		t.Fatalf("%+v", page)
	}
	last := get[api.Conflicts](r, "GET", "/workspaces/"+w.ID+"/conflicts?limit=1&cursor="+page.Next, nil)
	if len(last.Others) != 1 || last.Next != "" || last.Others[0].Workspace == page.Others[0].Workspace {
		t.Errorf("%+v after %+v", last, page)
	}
}
