package agent

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"middleman/terminal"
	"middleman/terminal/sight"
)

func TestCheck(t *testing.T) {
	long := slices.Repeat([]string{"a"}, maxItems+1)
	for _, tt := range []struct {
		name string
		in   Definition
		want string // of the error, "" for none
	}{
		{"least", Definition{Command: []string{"a"}}, ""},
		{"whole", Definition{
			Command: []string{"/opt/a b/c", "-x"}, Prompt: []string{"-m", "say: {prompt}"}, Identify: []string{"--id={conversation}"},
			Resume: []string{"a", "--resume", "{conversation}"}, Env: []string{"A_*", "B?"}, Sandbox: "strict", Grace: "1m",
		}, ""},
		{"resume without an id", Definition{Command: []string{"a"}, Resume: []string{"a", "--continue"}}, ""},
		{"nothing", Definition{}, "command is missing"},
		{"empty argument", Definition{Command: []string{"a", ""}}, `command: "" is empty`},
		{"NUL", Definition{Command: []string{"a\x00"}}, "NUL"},
		{"many", Definition{Command: long}, "command: more than 100"},
		{"a prompt that goes nowhere", Definition{Command: []string{"a"}, Prompt: []string{"-m"}}, "no argument has {prompt}"},
		{"an id that goes nowhere", Definition{Command: []string{"a"}, Identify: []string{"--id"}}, "no argument has {conversation}"},
		{"a prompt in the command", Definition{Command: []string{"a", "{prompt}"}}, "{prompt} has no meaning there"},
		{"an id as program", Definition{Command: []string{"a"}, Resume: []string{"{conversation}"}}, "has no meaning there"},
		{"a prompt in resume", Definition{Command: []string{"a"}, Resume: []string{"a", "{prompt}"}}, "has no meaning there"},
		{"variable", Definition{Command: []string{"a"}, Env: []string{"A=b"}}, `"A=b" is not a valid name`},
		{"class", Definition{Command: []string{"a"}, Env: []string{"[A"}}, `"[A" is not a valid name`},
		{"sandbox", Definition{Command: []string{"a"}, Sandbox: "off"}, `sandbox is "off"`},
		{"grace", Definition{Command: []string{"a"}, Grace: "soon"}, `grace is "soon"`},
		{"stop key", Definition{Command: []string{"a"}, Stop: []string{"C-c", "Nokey"}}, "stop: "},
		{"many stop keys", Definition{Command: []string{"a"}, Stop: slices.Repeat([]string{"C-c"}, 11)}, "stop: more than 10 keys"},
		{"no grace", Definition{Command: []string{"a"}, Grace: "0s"}, "above zero"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.in.Check("p")
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), "profiles.p: ") || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	for _, name := range []string{"", "A", "a b", "../a", "-a", strings.Repeat("a", 65)} {
		if err := (Definition{Command: []string{"a"}}).Check(name); err == nil || !strings.Contains(err.Error(), "not a valid name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Every built-in profile passes the check that others must pass, and its
// commands come out without a hole in them.
func TestBuiltIn(t *testing.T) {
	const id = "0a1b2c3d-0000-4000-8000-000000000000"
	for _, p := range builtIn {
		if p.Name == Shell {
			continue
		}
		if err := p.Check(p.Name); err != nil {
			t.Error(err)
		}
		if p.Program == "" || !IsBuiltIn(p.Name) {
			t.Errorf("%+v", p)
		}
		for _, prompt := range []string{"", "do it"} {
			argv, err := p.Launch(id, prompt, nil)
			if prompt != "" && len(p.Prompt) == 0 {
				if err == nil {
					t.Errorf("%s took a prompt", p.Name)
				}
				continue
			}
			if line := strings.Join(argv, " "); err != nil || strings.Contains(line, "{") || !strings.Contains(line, prompt) ||
				p.Identifies() != strings.Contains(line, id) {
				t.Errorf("%s: %q, %v", p.Name, argv, err)
			}
		}
		if argv, err := p.Again(id, nil); err != nil || strings.Contains(strings.Join(argv, " "), "{") || argv[0] != p.Command[0] {
			t.Errorf("%s again: %q, %v", p.Name, argv, err)
		}
	}
}

func TestLaunch(t *testing.T) {
	p := Profile{Name: "p", Definition: Definition{
		Command: []string{"a", "-x"}, Prompt: []string{"-m", "{prompt}"}, Identify: []string{"--id={conversation}"},
	}}
	for _, tt := range []struct {
		prompt string
		want   []string
	}{
		{"", []string{"a", "-x", "--id=7"}},
		{"two words; $(id)", []string{"a", "-x", "--id=7", "-m", "two words; $(id)"}},
		{"--yolo", []string{"a", "-x", "--id=7", "-m", " --yolo"}},
		{"{conversation}", []string{"a", "-x", "--id=7", "-m", "{conversation}"}},
	} {
		if got, err := p.Launch("7", tt.prompt, nil); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, %v", tt.prompt, got, err)
		}
	}
	for _, prompt := range []string{"a\x00", "\xff", strings.Repeat("a", MaxPrompt+1)} {
		if got, err := p.Launch("7", prompt, nil); err == nil {
			t.Errorf("%.10q: %.50q", prompt, got)
		}
	}
	if len(p.Command) != 2 {
		t.Error("the profile has changed")
	}
}

func TestAgain(t *testing.T) {
	p := Profile{Name: "p", Definition: Definition{Command: []string{"a"}, Resume: []string{"a", "-r", "{conversation}"}}}
	if got, err := p.Again("x.1:2_3", nil); err != nil || !slices.Equal(got, []string{"a", "-r", "x.1:2_3"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, id := range []string{"", "-x", "a b", "../x", "a\n", strings.Repeat("a", 201)} {
		if got, err := p.Again(id, nil); err == nil {
			t.Errorf("%q: %q", id, got)
		}
	}
	p.Resume = []string{"a", "--continue"}
	if got, err := p.Again("", nil); err != nil || !slices.Equal(got, p.Resume) {
		t.Errorf("%q, %v", got, err)
	}
	p.Resume = nil
	if _, err := p.Again("x", nil); err == nil {
		t.Error("there is no command")
	}
}

func TestProfiles(t *testing.T) {
	own := map[string]Definition{"claude": {Command: []string{"mine"}}, "zz": {Command: []string{"z"}}, Shell: {Command: []string{"no"}}}
	repository := map[string]Definition{"claude": {Command: []string{"theirs"}}, "codex": {Command: []string{"theirs"}}, "aa": {Command: []string{"a"}}}
	set := Profiles(own, repository)
	for name, want := range map[string][2]string{
		"claude": {User, "mine"}, "codex": {BuiltIn, "codex"}, "zz": {User, "z"}, "aa": {Repository, "a"},
	} {
		if p := set[name]; p.Source != want[0] || p.Command[0] != want[1] || p.Name != name {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p := set[Shell]; p.Source != BuiltIn || p.Command != nil {
		t.Errorf("%+v", p)
	}
	var names []string
	for _, p := range set.List() {
		names = append(names, p.Name)
	}
	if names[0] != Shell || names[1] != "claude" || !slices.Equal(names[len(names)-2:], []string{"aa", "zz"}) {
		t.Errorf("%q", names)
	}
}

func TestFor(t *testing.T) {
	set := Profiles(map[string]Definition{"mine": {Command: []string{"/opt/x"}}, "sh": {Command: []string{"sh", "-c", "x"}}}, nil)
	for _, tt := range []struct {
		name string
		argv []string
		want string
	}{
		{"claude", []string{"/usr/bin/anything"}, "claude"},
		{"", []string{"/usr/bin/claude", "-c"}, "claude"},
		{"", []string{"/usr/bin/cursor-agent"}, "cursor"},
		{"", []string{"/usr/bin/x"}, "mine"},
		{"", []string{"/bin/sh"}, ""},
		{"", nil, ""},
		{"gone", []string{"/usr/bin/claude"}, ""},
	} {
		if got := set.For(tt.name, tt.argv).Name; got != tt.want {
			t.Errorf("%q %q: %q, want %q", tt.name, tt.argv, got, tt.want)
		}
	}
}

func TestStopGrace(t *testing.T) {
	if d, err := (Definition{Grace: "1m"}).StopGrace(); d != time.Minute || err != nil {
		t.Error(d, err)
	}
	if d, err := (Definition{}).StopGrace(); d != 0 || err != nil {
		t.Error(d, err)
	}
}

// The stop keys of every built-in profile are valid, and each dialog that its rules know
// keeps them from being typed; a wrapper has its model's dialogs.
func TestStopKeys(t *testing.T) {
	for _, p := range Profiles(nil, nil).List() {
		k, err := p.StopKeys()
		if err != nil || len(k.Keys) != len(p.Stop) {
			t.Errorf("%s: %q, %v", p.Name, k.Keys, err)
		}
		waits := 0
		for _, r := range rules[p.RulesOf()] {
			if r.state == Waiting && r.kind != RateLimit {
				waits++
			}
		}
		if want := min(len(p.Stop), 1) * waits; len(k.Never) != want {
			t.Errorf("%s: %d screens at which nothing is typed, want %d", p.Name, len(k.Never), want)
		}
	}
	wrapper := Profile{Name: "mine", Definition: Definition{Command: []string{"a"}, Like: "claude", Stop: []string{"C-c", "q"}}}
	k, err := wrapper.StopKeys()
	if err != nil || string(bytes.Join(k.Keys, nil)) != "\x03q" || len(k.Never) == 0 {
		t.Fatalf("%v, %v", k, err)
	}
	held := func(screen string) bool {
		return slices.ContainsFunc(k.Never, func(never terminal.Sight) bool {
			m, err := sight.Compile(never)
			return err != nil || m.Holds("", strings.Split(screen, "\n"))
		})
	}
	if !held(claudeDialog) || held(claudeReady) {
		t.Errorf("%v", k.Never)
	}
}

// Where hooks tell the conversation, a resume takes up that one, and not the newest.
func TestResumeNamesTheConversation(t *testing.T) {
	for _, p := range Profiles(nil, nil).List() {
		if p.ToldByHooks() && !mentions(p.Resume, conversationHole) {
			t.Errorf("%s: %q", p.Name, p.Resume)
		}
	}
}

// A user's profile with the name of a built-in one changes what it sets.
func TestWhole(t *testing.T) {
	set := Profiles(map[string]Definition{
		"claude": {Approvals: true},
		"codex":  {Command: []string{"/opt/codex", "--fast"}, Env: []string{}, Stop: []string{"C-d"}},
		"mine":   {Command: []string{"x"}},
	}, map[string]Definition{"gemini": {Grace: "1s"}})
	claude, codex, builtin := set["claude"], set["codex"], Profiles(nil, nil)
	want := builtin["claude"].Definition
	want.Approvals = true
	if !reflect.DeepEqual(claude.Definition, want) || claude.Source != User || claude.Definition.Check("claude") != nil {
		t.Errorf("%+v", claude)
	}
	want = builtin["codex"].Definition
	want.Command, want.Env, want.Stop = []string{"/opt/codex", "--fast"}, []string{}, []string{"C-d"}
	want.Resume = []string{"/opt/codex", "--fast", "resume", conversationHole}
	if !reflect.DeepEqual(codex.Definition, want) {
		t.Errorf("%+v, want %+v", codex.Definition, want)
	}
	if got := set["mine"].Definition; len(got.Prompt) > 0 || len(got.Env) > 0 {
		t.Errorf("%+v", got)
	}
	if !reflect.DeepEqual(set["gemini"], builtin["gemini"]) {
		t.Errorf("a repository has changed a built-in profile: %+v", set["gemini"])
	}
	if alone := (Definition{Bundle: "a/b@c"}); !reflect.DeepEqual(alone.Whole("claude"), alone) {
		t.Error("a bundle's profile was changed")
	}
}
