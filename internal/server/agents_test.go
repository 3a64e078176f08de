//go:build linux || darwin

package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/internal/store"
)

// standIn is a program that claude's rules are tried on: it sets titles and draws
// dialogs as it is told to.
const standIn = `#!/bin/sh
stty -echo
echo ready
while read -r line; do
	case $line in
	work) printf '\033[2J\033[H\033]0;\342\240\202 Fix the login\007' ;;
	ask) printf ' Do you want to proceed?\n \342\235\257 1. Yes\n   2. No\n' ;;
	idle) printf '\033[2J\033[H\033]0;\342\234\263 Fix the login\007╭───╮\n│ > │\n╰───╯\n' ;;
	blank) printf '\033[2J\033[H\033]0;\007' ;;
	exit*) exit ${line#exit } ;;
	esac
done
`

// standsIn starts the stand-in as claude.
func (r *running) standsIn(w api.Workspace) api.Session {
	r.t.Helper()
	dir := r.t.TempDir()
	program := filepath.Join(dir, "claude")
	if err := os.WriteFile(program, []byte(standIn), 0o700); err != nil {
		r.t.Fatal(err)
	}
	return r.session(w, program)
}

// says types a line at a stand-in.
func (r *running) says(id, line string) {
	r.t.Helper()
	if a := r.call("POST", "/sessions/"+id+"/input", []byte(line+"\r")); a.status != 204 {
		r.t.Fatalf("input: %d %s", a.status, a.body)
	}
}

// agent is what a list tells of the session's program.
func (r *running) agent(id string) agent.Status {
	r.t.Helper()
	for _, s := range get[api.Sessions](r, "GET", "/sessions", nil).Sessions {
		if s.ID == id && s.Agent != nil {
			return *s.Agent
		}
	}
	return agent.Status{}
}

// becomes waits until a list tells that state. It returns how long that took.
func (r *running) becomes(id, text string) time.Duration {
	r.t.Helper()
	began := time.Now()
	r.until(text, func() bool { return r.agent(id).Text() == text })
	return time.Since(began)
}

// reports sends what a hook of claude says, with the session's own token.
func (r *running) reports(id string, own []string, h agent.Hook) answer {
	r.t.Helper()
	h.Agent = "claude"
	if h.At.IsZero() {
		h.At = time.Now()
	}
	return r.call("POST", "/sessions/"+id+"/report", h, own...)
}

// Lists follow what an agent shows and what its hooks say, through a restart of
// the server, without anybody asking for it.
func TestAgentIsFollowed(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", nil)
	s := r.standsIn(w)
	r.becomes(s.ID, "unknown")
	r.says(s.ID, "work")
	took := r.becomes(s.ID, "working")
	r.says(s.ID, "ask")
	took = max(took, r.becomes(s.ID, "waiting (permission)"))
	r.says(s.ID, "idle")
	took = max(took, r.becomes(s.ID, "idle"))
	t.Logf("the longest took %v", took)

	r.says(s.ID, "blank") // screen and title tell nothing from here on
	r.becomes(s.ID, "unknown")
	own := r.own(s.ID)
	conversation := "3f1c9a52-0000-4000-8000-000000000001"
	for _, x := range []struct {
		h    agent.Hook
		want string
	}{
		{agent.Hook{Event: "UserPromptSubmit", State: agent.Working, Conversation: conversation}, "working"},
		{agent.Hook{Event: "PermissionRequest", State: agent.Waiting, Kind: agent.Permission, Reason: "Bash: rm -r build"}, "waiting (permission)"},
		{agent.Hook{Event: "Surprise", Unknown: true}, "waiting (permission)"},
		{agent.Hook{Event: "PostToolUse", State: agent.Working, At: time.Now().Add(-time.Minute)}, "waiting (permission)"}, // late
		{agent.Hook{Event: "Stop", State: agent.Idle, Kind: agent.Background}, "idle (work runs)"},
	} {
		if a := r.reports(s.ID, own, x.h); a.status != 204 {
			t.Fatalf("%s: %d %s", x.h.Event, a.status, a.body)
		}
		r.becomes(s.ID, x.want)
	}
	if got := get[api.Session](r, "GET", "/sessions/"+s.ID, nil).Conversation; got != conversation {
		t.Errorf("conversation %q", got)
	}
	before := r.agent(s.ID)

	r.stop()
	r = p.serve(t)
	r.becomes(s.ID, "idle (work runs)")
	if after := r.agent(s.ID); !after.Since.Equal(before.Since) || after.Rule != "Stop" || after.Source != agent.FromHook {
		t.Errorf("after a restart %+v, before %+v", after, before)
	}
	report := get[agent.Report](r, "GET", "/sessions/"+s.ID+"/status", nil)
	if report.State != agent.Idle || report.Heard == nil || report.Heard.Rule != "Stop" || report.Profile != "claude" {
		t.Errorf("explained: %+v", report)
	}
	r.says(s.ID, "exit 3")
	get[api.Waited](r, "GET", "/sessions/"+s.ID+"/wait?for=exit&timeout=60s", nil)
	r.until("the end has been recorded, and the token with it", func() bool {
		return r.reports(s.ID, own, agent.Hook{Event: "Stop", State: agent.Idle}).status == 401
	})
}

// Only a session's own token reports for it. It starts its workers, as its user may.
func TestOwnToken(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", nil)
	one, two := r.standsIn(w), r.session(w, "cat")
	own, other := r.own(one.ID), r.own(two.ID)
	h := agent.Hook{Event: "UserPromptSubmit", State: agent.Working}
	full := []string{"Authorization", "Bearer " + r.token(store.ScopeFull, "", time.Hour)}
	for what, x := range map[string]struct {
		a    answer
		want int
	}{
		"its own":              {r.reports(one.ID, own, h), 204},
		"another session's":    {r.reports(one.ID, other, h), 403},
		"none":                 {r.reports(one.ID, nil, h), 403},
		"a user's":             {r.reports(one.ID, full, h), 403},
		"a wrong one":          {r.reports(one.ID, []string{"Authorization", "Bearer x"}, h), 401},
		"its own over TCP":     {r.browse("POST", "/api/v1/sessions/"+one.ID+"/report", h, own...), 401},
		"another agent's":      {r.call("POST", "/sessions/"+one.ID+"/report", agent.Hook{Agent: "codex", Event: "Stop", State: agent.Idle, At: time.Now()}, own...), 422},
		"no valid report":      {r.reports(one.ID, own, agent.Hook{Event: "Stop", State: agent.Idle, Kind: agent.Login}), 422},
		"1 MB":                 {r.reports(one.ID, own, agent.Hook{Event: "Stop", State: agent.Idle, Reason: strings.Repeat("x", 1<<20)}), 413},
		"to read its screen":   {r.call("GET", "/sessions/"+one.ID+"/capture", nil, own...), 403},
		"to end itself":        {r.call("DELETE", "/sessions/"+one.ID, nil, own...), 403},
		"to list":              {r.call("GET", "/workspaces", nil, own...), 403},
		"a worker":             {r.call("POST", "/sessions/"+one.ID+"/workers", api.NewWorker{Name: "k", Isolation: "shared", Session: api.NewSession{Command: []string{"cat"}}}, own...), 201},
		"another's worker":     {r.call("POST", "/sessions/"+one.ID+"/workers", api.NewWorker{Name: "l", Isolation: "shared", Session: api.NewSession{Command: []string{"cat"}}}, other...), 403},
		"a worker by its user": {r.call("POST", "/sessions/"+one.ID+"/workers", api.NewWorker{Name: "m", Isolation: "shared", Session: api.NewSession{Command: []string{"cat"}}}), 201},
		"a worker by a reader": {r.browse("POST", "/api/v1/sessions/"+one.ID+"/workers", api.NewWorker{Name: "n", Isolation: "shared", Session: api.NewSession{Command: []string{"cat"}}}, "Authorization", "Bearer "+r.token(store.ScopeRead, "", time.Hour)), 403},
		"broken JSON":          {r.call("POST", "/sessions/"+one.ID+"/report", []byte(`{"agent":`), own...), 0},
		"a session not known":  {r.reports("s0000000000000000", own, h), 403},
	} {
		if x.want != 0 && x.a.status != x.want || x.want == 0 && (x.a.status < 400 || x.a.status > 499) {
			t.Errorf("%s: %d %s", what, x.a.status, x.a.body)
		}
	}
	// A program without rules is known by what it reports, and so is its agent.
	if got := r.agent(two.ID); got.State != "" {
		t.Errorf("cat: %+v", got)
	}
	if a := r.reports(two.ID, other, h); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	r.becomes(two.ID, "working")
	r.searchState(strings.TrimPrefix(own[1], "Bearer "))
}

// A profile says which workers its program may start.
func TestSpawnGrants(t *testing.T) {
	p := newPlace(t)
	program := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(program, []byte(standIn), 0o700); err != nil {
		t.Fatal(err)
	}
	define := func(spawn []string) agent.Definition {
		return agent.Definition{Command: []string{program}, Spawn: spawn}
	}
	r := p.serve(t, func(o *server.Options) {
		o.Profiles = map[string]agent.Definition{"any": define(nil), "none": define([]string{}), "some": define([]string{"none", "shell"})}
	})
	w := r.workspace("w", nil)
	for _, x := range []struct {
		parent string
		worker api.NewSession
		want   int
	}{
		{"any", api.NewSession{Command: []string{"cat"}}, 201},
		{"any", api.NewSession{Profile: "some"}, 201},
		{"none", api.NewSession{Command: []string{"cat"}}, 403},
		{"none", api.NewSession{Profile: "none"}, 403},
		{"none", api.NewSession{Profile: "shell"}, 403},
		{"some", api.NewSession{Profile: "none"}, 201},
		{"some", api.NewSession{Profile: "shell"}, 201},
		{"some", api.NewSession{Profile: "any"}, 403},
		{"some", api.NewSession{Command: []string{"cat"}}, 403},
		{"some", api.NewSession{}, 403},
	} {
		parent := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Profile: x.parent})
		a := r.call("POST", "/sessions/"+parent.ID+"/workers", api.NewWorker{Isolation: "shared", Session: x.worker}, r.own(parent.ID)...)
		if a.status != x.want {
			t.Errorf("%s spawns %+v: %d %s", x.parent, x.worker, a.status, a.body)
		}
	}
}

// Twelve agents that change all the time: each is right once it rests, and events
// tell of a change.
func TestManyAgents(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", nil)
	var all []string
	for range 12 {
		all = append(all, r.standsIn(w).ID)
	}
	for i, id := range all {
		for n := range 10 {
			r.says(id, []string{"work", "ask", "idle"}[(i+n)%3])
		}
	}
	for i, id := range all {
		r.becomes(id, []string{"working", "waiting (permission)", "idle"}[(i+9)%3])
	}
	told := r.events(t, "", "")
	r.says(all[0], "blank")
	told.until(func(e api.Event) bool {
		return e.Type == "session" && e.ID == all[0] && e.Session.Agent != nil && e.Session.Agent.State == agent.Unknown
	})
}
