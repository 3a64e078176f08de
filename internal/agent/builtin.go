package agent

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// builtIn are the profiles that come with middleman. What they say of a program
// is from its public documentation; Versions are those that it was about.
//
// Stop keys: C-c cancels what claude and gemini do, or clears their input, and C-d ends
// them at an empty prompt, claude at the second (interactive mode, keyboard shortcuts).
// codex and copilot end at the second C-c, of which the first may cancel something
// (openai/codex#7035, github/copilot-cli#4394), opencode at the first at an empty prompt
// (anomalyco/opencode#9041). For the others nothing is known.
var builtIn = []Profile{
	{Name: Shell, Program: "the user's shell"},
	{Name: "claude", Program: "Claude Code", Versions: "2.1", Definition: Definition{
		Command:  []string{"claude"},
		Prompt:   []string{promptHole},
		Identify: []string{"--session-id", conversationHole},
		Resume:   []string{"claude", "--resume", conversationHole},
		Env:      []string{"ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_USE_*", "CLAUDE_CODE_OAUTH_TOKEN", "AWS_*", "GOOGLE_*", "CLOUD_ML_REGION"},
		Stop:     []string{"C-c", "C-d", "C-d"},
		Grace:    "10s",
		// With the variable it keeps .claude.json in it too.
		Directories: []string{"CLAUDE_CONFIG_DIR=~/.claude"},
		Logins:      []string{"~/.claude/.credentials.json"},
	}},
	{Name: "codex", Program: "Codex", Versions: "0.149 to 0.155", Definition: Definition{
		Command: []string{"codex"},
		Prompt:  []string{promptHole},
		Resume:  []string{"codex", "resume", conversationHole},
		Env:     []string{"OPENAI_*", "CODEX_HOME"},
		Stop:    []string{"C-c", "C-c", "C-c"},
		Grace:   "10s",

		Directories: []string{"CODEX_HOME=~/.codex"},
		Logins:      []string{"~/.codex/auth.json"},
	}},
	{Name: "gemini", Program: "Gemini CLI", Versions: "5411f11", Definition: Definition{
		Command: []string{"gemini"},
		Prompt:  []string{"--prompt-interactive", promptHole},
		Resume:  []string{"gemini", "--resume", conversationHole},
		Env:     []string{"GEMINI_*", "GOOGLE_*"},
		Stop:    []string{"C-c", "C-d", "C-d"},

		Directories: []string{"~/.gemini"},
		Logins:      []string{"~/.gemini/oauth_creds.json"},
	}},
	{Name: "agy", Program: "Antigravity CLI", Versions: "1.2", Definition: Definition{
		Command: []string{"agy"},
		Resume:  []string{"agy", "--conversation", conversationHole},
		Env:     []string{"GEMINI_*", "GOOGLE_*"},

		Directories: []string{"~/.gemini"},
	}},
	{Name: "opencode", Program: "OpenCode", Versions: "2", Definition: Definition{
		Command: []string{"opencode"},
		Prompt:  []string{"--prompt", promptHole},
		Resume:  []string{"opencode", "--session", conversationHole},
		Env:     []string{"OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "OPENROUTER_*", "AWS_*"},
		Stop:    []string{"C-c", "C-c"},

		Directories: []string{"~/.local/share/opencode", "~/.local/state/opencode", "~/.config/opencode"},
		Logins:      []string{"~/.local/share/opencode/auth.json"},
	}},
	{Name: "copilot", Program: "GitHub Copilot CLI", Versions: "1.0.78", Definition: Definition{
		Command:  []string{"copilot"},
		Prompt:   []string{"--interactive", promptHole},
		Identify: []string{"--session-id=" + conversationHole},
		Resume:   []string{"copilot", "--resume=" + conversationHole},
		Env:      []string{"COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"},
		Stop:     []string{"C-c", "C-c", "C-c"},

		Directories: []string{"COPILOT_HOME=~/.copilot"},
	}},
	{Name: "cursor", Program: "Cursor CLI", Versions: "2026.09.10", Definition: Definition{
		Command: []string{"cursor-agent"},
		Prompt:  []string{promptHole},
		Resume:  []string{"cursor-agent", "--resume", conversationHole},
		Env:     []string{"CURSOR_*"},

		Directories: []string{"~/.cursor", "~/.config/cursor"},
	}},
	{Name: "amp", Program: "Amp", Definition: Definition{
		Command: []string{"amp"},
		Resume:  []string{"amp", "threads", "continue", conversationHole},
		Env:     []string{"AMP_*"},

		Directories: []string{"~/.config/amp", "~/.local/share/amp"},
	}},
	{Name: "aider", Program: "Aider", Definition: Definition{
		Command: []string{"aider"},
		Resume:  []string{"aider", "--restore-chat-history"},
		Env:     []string{"AIDER_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "OPENROUTER_*", "DEEPSEEK_*"},

		Directories: []string{"~/.aider"},
	}},
}

// IsBuiltIn reports whether a profile of that name comes with middleman.
func IsBuiltIn(name string) bool {
	return slices.ContainsFunc(builtIn, func(p Profile) bool { return p.Name == name })
}

// Set has profiles by name.
type Set map[string]Profile

// Whole returns the definition of a user's profile: for one with the name of a built-in
// profile, what it does not set is that of the built-in one. Arguments of its command
// stay before those of resume. One of a bundle is as it is.
func (d Definition) Whole(name string) Definition {
	at := slices.IndexFunc(builtIn, func(p Profile) bool { return p.Name == name && name != Shell })
	if at < 0 || d.Bundle != "" {
		return d
	}
	base := builtIn[at].Definition
	if n := len(base.Command); len(d.Command) > 0 && len(base.Resume) >= n && slices.Equal(base.Resume[:n], base.Command) {
		base.Resume = slices.Concat(d.Command, base.Resume[n:])
	}
	own, whole := reflect.ValueOf(&d).Elem(), reflect.ValueOf(base)
	for i := range own.NumField() {
		if own.Field(i).IsZero() {
			own.Field(i).Set(whole.Field(i))
		}
	}
	return d
}

// Profiles returns the built-in profiles, the user's and a repository's. The user's
// change built-in ones of their name, see Whole; a repository's replace nothing.
func Profiles(user, repository map[string]Definition) Set {
	set := Set{}
	for _, p := range builtIn {
		p.Source = BuiltIn
		set[p.Name] = p
	}
	for name, d := range user {
		if name != Shell {
			set[name] = Profile{Name: name, Source: User, Program: set[name].Program, Definition: d.Whole(name)}
		}
	}
	for name, d := range repository {
		if _, taken := set[name]; !taken {
			set[name] = Profile{Name: name, Source: Repository, Definition: d}
		}
	}
	return set
}

// For returns the profile of a session that was started with the one of that
// name or, if name is "", with a command: then the profile that starts the same
// program. The zero Profile knows nothing.
func (s Set) For(name string, argv []string) Profile {
	if name != "" || len(argv) == 0 {
		return s[name]
	}
	program := filepath.Base(argv[0])
	for _, p := range s.List() {
		if len(p.Command) == 1 && filepath.Base(p.Command[0]) == program {
			return p
		}
	}
	return Profile{}
}

// List returns the profiles: those that come with middleman first, in their
// order, then the others by name.
func (s Set) List() []Profile {
	rank := map[string]int{}
	for i, p := range builtIn {
		rank[p.Name] = i - len(builtIn)
	}
	return slices.SortedFunc(maps.Values(s), func(a, b Profile) int {
		return cmp.Or(cmp.Compare(rank[a.Name], rank[b.Name]), cmp.Compare(a.Name, b.Name))
	})
}

// Doubts returns what of a profile cannot work as it is written, each in one line: it names
// other profiles, and what is to tell the conversation that is taken up again.
func (s Set) Doubts(p Profile) (list []string) {
	for _, name := range p.Spawn {
		if _, is := s[name]; !is && !strings.Contains(name, "/") { // ID/NAME is one of a bundle
			list = append(list, fmt.Sprintf("spawn names %q, and there is no such profile", name))
		}
	}
	if mentions(p.Resume, conversationHole) && len(p.Identify) == 0 && !p.Inject("").Hooks {
		list = append(list, "resume has "+conversationHole+", which nothing tells: set identify, or like for a wrapper of an agent whose hooks report it")
	}
	return list
}
