package runtime

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/workspace"
)

const planted = "/home/victim/.secrets token=hunter2 https://10.0.0.7:8091"

// Whatever a remote says in words of its own, nothing of it is passed on; what it
// lists is.
func TestTidy(t *testing.T) {
	stage := api.Stage{Name: "setup", Detail: planted}
	session := api.Session{ID: "s0123456789abcdef", Error: planted, Note: planted, Journal: planted, Argv: []string{"make"}}
	of := api.Workspace{ID: "w0123456789abcdef", Error: planted, Problem: planted, Stages: []api.Stage{stage}, Sessions: []api.Session{session}, Brought: &api.Brought{Problem: planted, Commits: 2}}
	for _, in := range []any{
		&api.Workspaces{Workspaces: []api.Workspace{of}, Sessions: []api.Session{session}},
		&api.Created{Workspace: of, Session: &session},
		&api.Deleted{Workspace: of, Warnings: []string{planted, planted}, Workers: []api.Deleted{{Warnings: []string{planted}}}},
		&api.Restored{Workspace: of, Warnings: []string{planted}},
		&api.Workers{Workers: []api.Worker{{Error: planted, LeftUnknown: planted}}},
		&api.Conflicts{Others: []workspace.Forecast{{Unknown: []string{planted}}}},
		&api.Availability{Reason: planted},
		&api.Matches{Failed: []string{planted, planted}},
		&api.Bundles{Bundles: []api.Bundle{{ID: "team", Problem: planted}}},
		&api.Problem{Code: api.CodeSessionsRun, Title: "x", Sessions: []api.Session{session}},
	} {
		tidy("box", in, false)
		raw, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Fields(planted) {
			if strings.Contains(string(raw), part) {
				t.Errorf("%T: %q is in %s", in, part, raw)
			}
		}
		if _, problem := in.(*api.Problem); !problem && !strings.Contains(string(raw), "runtime box has an explanation") {
			t.Errorf("%T does not say that there is an explanation: %s", in, raw)
		}
	}
	tidy("box", &of, false)
	if of.Sessions[0].Argv[0] != "make" || of.Brought.Commits != 2 || of.Stages[0].Name != "setup" {
		t.Errorf("data was changed: %+v", of)
	}
}

// The user of this machine reads what a remote explains: on one line, without what does
// not show, and no more than a screen of it.
func TestTidyExplains(t *testing.T) {
	of := api.Workspace{Error: "setup failed:\n\x1b[31mmake\u202e", Name: "a\x1bb", Stages: []api.Stage{{Detail: strings.Repeat("x", 10000)}}}
	in := api.Restored{Workspace: of, Warnings: []string{"one", "two"}}
	tidy("box", &in, true)
	got := in.Workspace
	if got.Error != `box says: setup failed:\n\x1b[31mmake\u202e` || got.Name != `a\x1bb` || !slices.Equal(in.Warnings, []string{"box says: one", "box says: two"}) {
		t.Errorf("%q, %q, %q", got.Error, got.Name, in.Warnings)
	}
	if n := len(got.Stages[0].Detail); n > maxShort+20 {
		t.Errorf("%d bytes of an explanation", n)
	}
	refusal := newRefusal("box", 409, []byte(`{"code":"name-taken","detail":"a line\nand /a/path"}`))
	if refusal.Explained != `runtime box: the name is taken there; it says: a line\nand /a/path` || strings.Contains(refusal.Detail, "path") {
		t.Errorf("%+v", refusal)
	}
}

// The code of a problem is one of ours, and the text is ours.
func TestRefusal(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		status   int
		code     string
	}{
		{"a code of ours", `{"code":"name-taken","detail":"` + planted + `"}`, 409, api.CodeNameTaken},
		{"a code that is none", `{"code":"hunter2","title":"` + planted + `","detail":"x"}`, 409, api.CodeInternal},
		{"no JSON", planted, 500, api.CodeInternal},
		{"a page of a proxy", "<html>" + planted, 404, api.CodeNotFound},
		{"a lost login", planted, 401, api.CodeUnauthorized},
	} {
		r := newRefusal("box", tt.status, []byte(tt.in))
		if r.Code != tt.code || r.Detail != "runtime box: "+sentences[tt.code] {
			t.Errorf("%s: %s: %s", tt.name, r.Code, r.Detail)
		}
	}
	r := newRefusal("box", 409, []byte(`{"code":"work-would-be-lost","lost":{"changed":["a.go"]}}`))
	if r.Lost == nil || !slices.Equal(r.Lost.Changed, []string{"a.go"}) {
		t.Errorf("the list of what would be lost: %+v", r.Lost)
	}
}
