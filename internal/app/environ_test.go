package app

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/internal/api"
)

func TestEnvironment(t *testing.T) {
	given := []string{
		"PATH=/bin", "GITHUB_TOKEN=secret", "LC_ALL=C", "AWS_SECRET_ACCESS_KEY=secret", "SSH_AUTH_SOCK=/s", "MIDDLEMAN_HOME=/h",
		"MIDDLEMAN_TOKEN=secret", "MIDDLEMAN_SESSION=s", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=secret", "LD_PRELOAD=/x", "=C:=x", "odd",
		"NOTIFY_SOCKET=/n", "https_proxy=http://p",
	}
	want := []string{"PATH=/bin", "LC_ALL=C", "SSH_AUTH_SOCK=/s", "MIDDLEMAN_HOME=/h", "MIDDLEMAN_SESSION=s", "NOTIFY_SOCKET=/n", "https_proxy=http://p"}
	if got := Environment(given); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if again := Environment(Environment(given)); !slices.Equal(again, want) {
		t.Errorf("twice: %q", again)
	}
}

// What is stored of a request has no value of a variable, and does not change
// the request.
func TestStorable(t *testing.T) {
	in := api.NewWorkspace{Name: "w", Session: &api.NewSession{
		Command: []string{"cat"}, Env: []string{"TOKEN=secret", "A=secret=x"}, CallerEnv: [][]byte{[]byte("KEY=secret")}, CleanEnv: true,
	}}
	stored := storable(in)
	if stored.Session.Env != nil || stored.Session.CallerEnv != nil || !stored.FromCaller || !stored.Session.CleanEnv ||
		!slices.Equal(stored.Named, []string{"TOKEN", "A"}) || !slices.Equal(stored.Session.Command, []string{"cat"}) {
		t.Errorf("stored: %+v, %+v", stored, stored.Session)
	}
	if len(in.Session.Env) != 2 || len(in.Session.CallerEnv) != 1 {
		t.Errorf("the request has changed: %+v", in.Session)
	}
	if none := storable(api.NewWorkspace{Name: "w"}); none.Session != nil || none.FromCaller {
		t.Errorf("without a session: %+v", none)
	}
}

func TestWithoutTree(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	list := []string{"/bin", root, filepath.Join(root, "node_modules", ".bin"), root + "-not", other}
	given := [][]byte{[]byte("A=" + root), []byte("PATH=" + strings.Join(list, ":"))}
	got := withoutTree(given, root)
	if want := "PATH=/bin:" + root + "-not:" + other; string(got[1]) != want || string(got[0]) != "A="+root {
		t.Errorf("%q, want %q", got, want)
	}
	if withoutTree(nil, root) != nil {
		t.Error("no environment has become one")
	}
}
