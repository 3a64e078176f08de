package app

import (
	"slices"
	"strings"
	"testing"

	"middleman/internal/agent"
	"middleman/internal/config"
	"middleman/internal/sandbox"
	"middleman/internal/store"
)

func TestChooseNetwork(t *testing.T) {
	mine := agent.Profile{Source: agent.User, Definition: agent.Definition{Network: []string{"profile.example"}}}
	theirs := agent.Profile{Source: agent.Repository, Definition: agent.Definition{Network: []string{"profile.example"}}}
	again := &store.Session{}
	again.Sandbox = &sandbox.Applied{Hosts: []string{"again.example"}}
	open := &store.Session{}
	open.Sandbox = &sandbox.Applied{}
	parent := func(hosts ...string) *sandbox.Policy {
		return &sandbox.Policy{Network: sandbox.Network{Off: len(hosts) == 0, Allow: hosts}}
	}
	for _, c := range []struct {
		name     string
		asked    []string
		settings []string
		box      box
		again    *store.Session
		want     string // joined by spaces
		refused  string
	}{
		{"nothing", nil, nil, box{}, nil, "", ""},
		{"the user's word", []string{"a.example"}, []string{"settings.example"}, box{profile: mine}, again, "a.example", ""},
		{"what it had", nil, []string{"settings.example"}, box{profile: mine}, again, "again.example", ""},
		{"that it had no network", nil, []string{"settings.example"}, box{level: sandbox.Strict, profile: mine}, open, "", ""},
		{"an open network is not kept", nil, []string{"settings.example"}, box{level: sandbox.Workspace}, open, "settings.example", ""},
		{"the profile", nil, []string{"settings.example"}, box{profile: mine}, nil, "profile.example", ""},
		{"a repository's profile", nil, []string{"settings.example"}, box{profile: theirs}, nil, "settings.example", ""},
		{"a parent's list", nil, []string{"settings.example"}, box{profile: mine, parent: parent("a.example", "b.example")}, nil, "a.example b.example", ""},
		{"a part of it", []string{"b.example"}, nil, box{parent: parent("a.example", "b.example")}, nil, "b.example", ""},
		{"more than a parent has", []string{"c.example"}, nil, box{parent: parent("a.example")}, nil, "", "not in the list"},
		{"a parent without network", nil, []string{"settings.example"}, box{profile: mine, parent: parent()}, nil, "", ""},
		{"more than nothing", []string{"c.example"}, nil, box{parent: parent()}, nil, "", "not in the list"},
		{"an entry that means nothing", []string{"*"}, nil, box{}, nil, "", `network entry "*"`},
		{"another method", []string{"a.example"}, nil, box{method: sandbox.Landlock}, nil, "", "needs bubblewrap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &App{Options: Options{Sandbox: config.Sandbox{Network: c.settings}, Support: func() sandbox.Support { return sandbox.Support{NoBubblewrap: "it is missing"} }}}
			if c.box.method == "" {
				c.box.method = sandbox.Bubblewrap
			}
			err := s.chooseNetwork(&c.box, c.asked, c.again)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("error %v, want %q", err, c.refused)
				}
				return
			}
			if err != nil || !slices.Equal(c.box.network, strings.Fields(c.want)) {
				t.Errorf("%q, %v; want %q", c.box.network, err, c.want)
			}
		})
	}
}
