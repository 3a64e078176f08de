//go:build linux || darwin

package server_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/sandbox"
	"middleman/internal/server"
	"middleman/internal/store"
)

// The profiles are listed as a session with them would be started: with the program, or
// why there is none, and with the level of its sandbox.
func TestProfilesToStart(t *testing.T) {
	p := newPlace(t)
	program := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := p.serve(t, func(o *server.Options) {
		o.Profiles = map[string]agent.Definition{
			"claude": {Command: []string{program}},
			"gone":   {Command: []string{"no-such-program"}, Prompt: []string{"{prompt}"}, Sandbox: "strict"},
			"lost":   {Bundle: "team/claude@" + strings.Repeat("a", 64)},
			"plain":  {Command: []string{"sh"}},
		}
	})
	list := get[api.Profiles](r, "GET", "/profiles", nil).Profiles
	named := func(list []api.Profile, name string) api.Profile {
		at := slices.IndexFunc(list, func(p api.Profile) bool { return p.Name == name })
		if at < 0 {
			t.Fatalf("no profile %s in %+v", name, list)
		}
		return list[at]
	}
	if list[0].Name != "claude" || slices.ContainsFunc(list, func(p api.Profile) bool { return p.Name == agent.Shell }) {
		t.Errorf("listed: %+v", list)
	}
	for _, want := range []api.Profile{
		{Name: "claude", Program: list[0].Program, Source: agent.User, Path: program, TakesPrompt: true, Sandbox: sandbox.Workspace},
		{Name: "gone", Source: agent.User, Problem: "not found in PATH", TakesPrompt: true, Sandbox: sandbox.Strict},
		{Name: "plain", Source: agent.User, Path: named(list, "plain").Path, Sandbox: sandbox.None},
	} {
		if got := named(list, want.Name); got != want {
			t.Errorf("%s: %+v, not %+v", want.Name, got, want)
		}
	}
	if lost := named(list, "lost"); lost.Problem == "" || lost.Path != "" || named(list, "plain").Path == "" {
		t.Errorf("%+v", list)
	}
	if a := r.browse("GET", "/api/v1/profiles", nil, "Authorization", "Bearer "+r.token(store.ScopeRead, "", time.Hour)); a.status != 403 {
		t.Errorf("a reader: %d %s", a.status, a.body)
	}
}

// A workspace has the profiles of its repository's configuration once that is agreed to.
func TestProfilesOfRepository(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	hash := p.configure(t, "[profiles.checker]\ncommand = [\"sh\"]\nsandbox = \"strict\"\n")
	w := r.makes("w")
	checkers := func(path string) (found []api.Profile) {
		for _, p := range get[api.Profiles](r, "GET", path, nil).Profiles {
			if p.Name == "checker" {
				found = append(found, p)
			}
		}
		return found
	}
	if got := checkers("/workspaces/w/profiles"); got != nil {
		t.Errorf("before consent: %+v", got)
	}
	if a := r.agree(w, hash); a.status >= 300 {
		t.Fatalf("agree: %d %s", a.status, a.body)
	}
	if got := checkers("/workspaces/w/profiles"); len(got) != 1 || got[0].Source != agent.Repository || got[0].Sandbox != sandbox.Strict || got[0].Path == "" {
		t.Errorf("after consent: %+v", got)
	}
	if got := checkers("/profiles"); got != nil {
		t.Errorf("of no workspace: %+v", got)
	}
	if a := r.call("GET", "/workspaces/none/profiles", nil); a.status != 404 {
		t.Errorf("of no such workspace: %d %s", a.status, a.body)
	}
}
