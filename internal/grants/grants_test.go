package grants

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/internal/bundle"
	"middleman/internal/sandbox"
)

// policyOf is a policy with one rule, which decides about a reference.
func policyOf(ref bundle.Ref, action string) string {
	if action == "" {
		return ""
	}
	text := fmt.Sprintf("[[rules]]\nname = \"the rule\"\nkind = %q\nmatch = [\"*\"]\naction = %q\n", ref.Kind, action)
	if ref.Kind == bundle.Mount && action != deny {
		text += "path = \"/srv/cache\"\n"
	}
	if ref.Kind == bundle.Network && action == narrow {
		text += "hosts = [\"api.example.com\", \"*.other.org\"]\n"
	}
	return text
}

// Every cell of what is asked, what the policy says, and the level of the sandbox. In a
// word of the table stand, for no rule, allow, deny and narrow: g granted, n narrowed,
// r refused, h refused even if it is optional, because the host could not enforce it,
// x a rule that the policy may not have.
func TestEveryCellOfThePolicy(t *testing.T) {
	levels := []sandbox.Level{sandbox.None, sandbox.Workspace, sandbox.Strict}
	actions := []string{"", allow, deny, narrow}
	cells := 0
	for _, row := range []struct {
		asked string
		write bool
		want  [3]string // by level
	}{
		{"secret-ref:key", false, [3]string{"rgrx", "rgrx", "rgrx"}},
		{"mount-grant:cache", false, [3]string{"hghg", "rgrg", "rgrg"}},
		{"mount-grant:cache", true, [3]string{"hghh", "rgrn", "rgrn"}},
		{"network-policy:off", false, [3]string{"hhhh", "ggrg", "ggrg"}},
		{"network-policy:open", false, [3]string{"gghh", "ggrn", "rrrn"}},
		{"network-policy:api.example.com", false, [3]string{"hhhh", "ggrg", "rgrg"}},
		{"network-policy:*.example.com", false, [3]string{"hhhh", "ggrn", "rgrn"}},
		{"network-policy:elsewhere.net", false, [3]string{"hhhh", "ggrr", "rgrr"}},
		{"shell-policy:sandboxed", false, [3]string{"hhhx", "gghx", "gghx"}},
		{"git-policy:commit", false, [3]string{"gghh", "ggrn", "ggrn"}},
		{"git-policy:read-only", false, [3]string{"hhhh", "gghg", "gghg"}},
		{"capability-grant:login", false, [3]string{"hghx", "rgrx", "rgrx"}},
		{"capability-grant:approvals", false, [3]string{"rgrx", "rgrx", "rgrx"}},
		{"capability-grant:spawn", false, [3]string{"rgrx", "rgrx", "rgrx"}},
		{"capability-grant:env.EDITOR", false, [3]string{"rgrx", "rgrx", "rgrx"}},
	} {
		ref, err := bundle.ParseRef(row.asked)
		if err != nil {
			t.Fatal(err)
		}
		for l, level := range levels {
			for a, action := range actions {
				cells++
				name := fmt.Sprintf("%s write %v, %q, %s", row.asked, row.write, action, level)
				p, err := parse([]byte(policyOf(ref, action)))
				want := row.want[l][a]
				if want == 'x' {
					if err == nil {
						t.Errorf("%s: the policy is taken", name)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				d := bundle.Declaration{Ref: ref, Write: row.write, Env: "KEY"}
				given, needed := Decide(p, Request{ID: "team", Asked: []bundle.Declaration{d}, Level: level})
				d.Optional = true
				_, optional := Decide(p, Request{ID: "team", Asked: []bundle.Declaration{d}, Level: level})
				got := given.Grants[0].Result[0]
				if got == 'r' && optional != nil {
					got = 'h'
				}
				if got != want || (needed != nil) != (want == 'r' || want == 'h') || needed != nil && !errors.Is(needed, bundle.ErrRefused) {
					t.Errorf("%s: %c, want %c; %v", name, got, want, needed)
				}
				checkGiven(t, name, given, row.write)
				g := given.Grants[0]
				if rule := map[bool]string{true: "the rule", false: map[bool]string{true: noRule, false: builtIn}[g.Result == bundle.Refused]}[action != ""]; g.Rule != rule {
					t.Errorf("%s: rule %q, want %q", name, g.Rule, rule)
				}
			}
		}
	}
	t.Logf("%d cells", cells)
}

// checkGiven compares what is given with what the grant says.
func checkGiven(t *testing.T, name string, g Given, write bool) {
	t.Helper()
	grant := g.Grants[0]
	gave := grant.Result != bundle.Refused
	kind, what, _ := strings.Cut(grant.Asked, ":")
	ok := true
	switch kind {
	case bundle.Secret:
		ok = (g.Secrets["KEY"] == "key") == gave
	case bundle.Mount:
		ok = (len(g.Mounts) == 1) == gave && (!gave || g.Mounts[0].Write == (write && grant.Result == bundle.Granted))
	case bundle.Network:
		ok = !gave || what == bundle.NetworkOpen && grant.Result == bundle.Granted && g.Hosts == nil || what == bundle.NetworkOff && g.Level == sandbox.Strict && g.Hosts == nil || len(g.Hosts) > 0
		if !gave && g.Level == sandbox.Workspace && g.Network {
			ok = false // a refusal must not leave the network open
		}
	case bundle.Git:
		ok = g.ReadOnlyGit == (grant.Result == bundle.Narrowed || what == bundle.GitReadOnly && gave || what == bundle.GitCommit && !gave) || strings.Contains(grant.Reason, "cannot be kept")
	case bundle.Capability:
		ok = (g.Login || g.Approvals || g.Spawn || slices.Equal(g.Env, []string{"EDITOR"})) == gave
	}
	if !ok {
		t.Errorf("%s: %+v", name, g)
	}
}

// The first rule that matches counts, and only for its bundles.
func TestOrderOfRules(t *testing.T) {
	p, err := parse([]byte(`
[[rules]]
name = "not for others"
kind = "mount-grant"
match = ["*"]
bundles = ["other*"]
action = "deny"
[[rules]]
name = "read"
kind = "mount-grant"
match = ["go-*"]
action = "narrow"
path = "~/go"
[[rules]]
name = "never reached"
kind = "mount-grant"
match = ["*"]
action = "deny"
`))
	if err != nil {
		t.Fatal(err)
	}
	asked := []bundle.Declaration{{Ref: bundle.Ref{Kind: bundle.Mount, Name: "go-cache"}, Write: true, Optional: true}}
	for id, want := range map[string]string{"team": "narrowed read-only by read", "others": "refused  by not for others"} {
		g, err := Decide(p, Request{ID: id, Asked: asked, Level: sandbox.Workspace})
		if got := g.Grants[0].Result + " " + g.Grants[0].Given + " by " + g.Grants[0].Rule; got != want || err != nil {
			t.Errorf("%s: %s, %v", id, got, err)
		}
	}
}

func TestHostsOfSeveralGrants(t *testing.T) {
	ask := func(names ...string) (all []bundle.Declaration) {
		for _, name := range names {
			all = append(all, bundle.Declaration{Ref: bundle.Ref{Kind: bundle.Network, Name: name}, Optional: true})
		}
		return all
	}
	for _, tt := range []struct {
		name   string
		asked  []bundle.Declaration
		anyway []string
		hosts  []string
		level  sandbox.Level
	}{
		{"a list", ask("a.org", "b.org"), nil, []string{"a.org", "b.org"}, sandbox.Workspace},
		{"part of the settings' list", ask("a.org", "b.org"), []string{"b.org"}, []string{"b.org"}, sandbox.Workspace},
		{"nothing of it", ask("a.org"), []string{"b.org"}, nil, sandbox.Strict},
		{"off wins", ask("a.org", "off"), nil, nil, sandbox.Strict},
		{"open wins over a list", ask("a.org", "open"), nil, nil, sandbox.Workspace},
		{"the settings' list instead of all", ask("open"), []string{"b.org"}, []string{"b.org"}, sandbox.Workspace},
	} {
		g, err := Decide(Policy{}, Request{ID: "team", Asked: tt.asked, Level: sandbox.Workspace, Hosts: tt.anyway})
		if err != nil || !slices.Equal(g.Hosts, tt.hosts) || g.Level != tt.level {
			t.Errorf("%s: %q %s, %v", tt.name, g.Hosts, g.Level, err)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		asked, host string
		want        bool
	}{
		{"open", "a.org", true}, {"a.org", "a.org", true}, {"a.org", "a.org:443", true}, {"a.org", "a.org:22", false}, {"a.org:443", "a.org", false},
		{"*.a.org", "b.a.org", true}, {"*.a.org", "b.a.org:443", true}, {"*.a.org", "a.org", false}, {"*.a.org", "ba.org", false}, {"a.org", "*.a.org", false},
		{"*.a.org", "*.b.a.org", true}, {"a.org:5432", "a.org:5432 private", false}, {"[2001:db8::1]:443", "[2001:db8::1]:443", true}, {"[2001:db8::1]", "[2001:db8::1]:443", true}, {"A.org", "a.ORG:80", true},
	} {
		if got := covers(tt.asked, tt.host); got != tt.want {
			t.Errorf("%s covers %s: %v", tt.asked, tt.host, got)
		}
	}
}

func TestPolicyThatCannotBeMeant(t *testing.T) {
	const rule = "[[rules]]\nname = \"x\"\n"
	for text, want := range map[string]string{
		"rule = 1": "line 1: there is no setting \"rule\"", rule + "kind = \"mount-grant\"\nmatch = [\"*\"]\naction = \"allow\"\n": "path:",
		rule + "kind = \"mounts\"\nmatch = [\"*\"]\naction = \"deny\"\n":                                "kind is \"mounts\"",
		rule + "kind = \"git-policy\"\naction = \"deny\"\n":                                             "match is missing",
		rule + "kind = \"git-policy\"\nmatch = [\"[\"]\naction = \"deny\"\n":                            "not a valid pattern",
		rule + "kind = \"git-policy\"\nmatch = [\"*\"]\naction = \"ask\"\n":                             "action is \"ask\"",
		rule + "kind = \"mount-grant\"\nmatch = [\"*\"]\naction = \"allow\"\npath = \"srv\"\n":          "path is \"srv\"",
		rule + "kind = \"network-policy\"\nmatch = [\"*\"]\naction = \"narrow\"\n":                      "hosts:",
		rule + "kind = \"network-policy\"\nmatch = [\"*\"]\naction = \"narrow\"\nhosts = [\"*.com\"]\n": "hosts:",
		"[[rules]]\nname = \"built-in\"\nkind = \"git-policy\"\nmatch = [\"*\"]\naction = \"deny\"\n":   "name:",
		"[secrets]\ncommand = [\"pass\", \"{name}\"]\n":                                                 "absolute path", "[secrets]\ncommand = [\"/bin/pass\"]\n": "{name}", "x": "line 1",
	} {
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
}

func TestPolicyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.toml")
	if p, err := Load(file); err != nil || len(p.Rules) != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	text := policyOf(bundle.Ref{Kind: bundle.Git}, deny)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := Load(file); err != nil || len(p.Rules) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, kind := range bundle.Kinds {
		for _, action := range []string{allow, deny, narrow} {
			f.Add([]byte(policyOf(bundle.Ref{Kind: kind}, action)))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := parse(raw)
		if err != nil {
			return
		}
		for _, kind := range bundle.Kinds {
			d := bundle.Declaration{Ref: bundle.Ref{Kind: kind, Name: "x"}, Env: "X"}
			g, err := Decide(p, Request{ID: "a", Asked: []bundle.Declaration{d}, Level: sandbox.Workspace})
			if len(g.Grants) != 1 || (err == nil) != (g.Grants[0].Result != bundle.Refused) {
				t.Fatalf("%+v, %v", g, err)
			}
		}
	})
}
