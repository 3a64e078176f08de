package app

import (
	"errors"
	"strings"
	"testing"

	"middleman/workspace"
)

func TestPassOver(t *testing.T) {
	const text = "setup = []"
	for _, tt := range []struct {
		name string
		w    workspace.Workspace
		c    repoConfig
		want string
	}{
		{"no file", workspace.Workspace{}, repoConfig{}, ""},
		{"agreed to", workspace.Workspace{}, repoConfig{content: []byte(text), trusted: true}, ""},
		{"not agreed to", workspace.Workspace{Name: "w"}, repoConfig{content: []byte(text)}, "`middleman trust w --setup`"},
		{"cannot be meant", workspace.Workspace{}, repoConfig{content: []byte{}, trusted: true, wrong: errors.New("line 3")}, "line 3"},
		{"of a worker", workspace.Workspace{Name: "w", Parent: "p"}, repoConfig{content: []byte(text), trusted: true}, "a session asked for this workspace"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := passOver(tt.w, tt.c)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
