//go:build unix

package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// recorder makes an executable at a path that a shell would take apart. It
// appends its arguments and its input to a file.
func recorder(t *testing.T) (executable, record string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), `it's $HOME "a" \b`)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	executable, record = filepath.Join(dir, "middle man"), filepath.Join(dir, "record")
	script := "#!/bin/sh\n{ printf '%s|' \"$@\"; cat; echo; } >>\"$(dirname \"$0\")/record\"\n"
	if err := os.WriteFile(executable, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return executable, record
}

// runs checks that a shell runs a hook's command as it is meant, and returns
// what that prints.
func runs(t *testing.T, shell, command, record, want string) string {
	t.Helper()
	cmd := exec.Command(shell, "-c", command)
	cmd.Stdin = strings.NewReader(`{"x":1}`)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	got, err := os.ReadFile(record)
	if err != nil || string(got) != want+`|{"x":1}`+"\n" {
		t.Errorf("%s: %q, %v, want %q", command, got, err, want)
	}
	if err := os.Remove(record); err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// What Codex itself says of a hook, published for 0.153.4:
// codex app-server, hooks/list.
func TestCodexHash(t *testing.T) {
	const want = "sha256:1f82e2f79ad43ede047010d5f31328ed0787935478340593c5589f7dfc8f5844"
	if got := codexHash("stop", "/tmp/codex-hook-probe/hook.sh", 600); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// The text that is hashed escapes no more than JSON must.
	text := `{"event_name":"interrupt","hooks":[{"async":false,"command":"'a\"b' <&> é","timeout":3,"type":"command"}]}`
	if got, want := codexHash("interrupt", `'a"b' <&> é`, 3), fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestInjectClaude(t *testing.T) {
	executable, record := recorder(t)
	for _, approvals := range []bool{false, true} {
		p := Profiles(nil, nil)["claude"]
		p.Approvals = approvals
		in := p.Inject(executable)
		if !in.Hooks || in.Files != nil || in.Variable != "" || len(in.Args) != 2 || in.Args[0] != "--settings" || len(in.Args[1]) > 64<<10 {
			t.Fatalf("%+v", in)
		}
		var settings struct {
			Hooks map[string][]hookGroup `json:"hooks"`
		}
		d := json.NewDecoder(strings.NewReader(in.Args[1]))
		d.DisallowUnknownFields()
		if err := d.Decode(&settings); err != nil {
			t.Fatal(err)
		}
		for event, groups := range settings.Hooks {
			if _, known := claudeEvents[event]; !known || len(groups) != 1 || len(groups[0].Hooks) != 1 {
				t.Fatalf("%s: %+v", event, groups)
			}
			h, verb, timeout := groups[0].Hooks[0], "report", reportTime
			if approvals && event == "PermissionRequest" {
				verb, timeout = "approve", approveTime
			}
			if h.Type != "command" || h.Timeout != timeout {
				t.Errorf("%s: %+v", event, h)
			}
			for _, shell := range []string{"sh", "bash"} {
				if out := runs(t, shell, h.Command, record, verb+"|--agent|claude"); out != "" {
					t.Errorf("%s prints %q, which claude would take for an answer", event, out)
				}
			}
		}
		// What begins, ends or interrupts a turn reports in order.
		for _, event := range []string{"UserPromptSubmit", "PreToolUse", "PermissionRequest", "Stop", "StopFailure", "Elicitation"} {
			if g := settings.Hooks[event]; len(g) != 1 || g[0].Hooks[0].Async {
				t.Errorf("%s: %+v", event, g)
			}
		}
		if m := settings.Hooks["PreToolUse"][0].Matcher; m != "AskUserQuestion|ExitPlanMode" {
			t.Errorf("matcher %q", m)
		}
		if settings.Hooks["Notification"] != nil {
			t.Error("Notification is no sign of waiting")
		}
	}
}

func TestInjectCodex(t *testing.T) {
	executable, record := recorder(t)
	type handler struct {
		Type    string `toml:"type" json:"type"`
		Command string `toml:"command" json:"command"`
		Timeout int    `toml:"timeout" json:"timeout"`
		Async   bool   `toml:"-" json:"async"`
	}
	for _, approvals := range []bool{false, true} {
		p := Profiles(nil, nil)["codex"]
		p.Approvals = approvals
		in := p.Inject(executable)
		if !in.Hooks || in.Files != nil || in.Variable != "" {
			t.Fatalf("%+v", in)
		}
		var config struct {
			Hooks map[string]any `toml:"hooks"`
		}
		events := map[string]handler{}
		trust := map[string]string{}
		for i := 0; i < len(in.Args); i += 2 {
			if in.Args[i] != "-c" {
				t.Fatalf("%q", in.Args)
			}
			key, value, _ := strings.Cut(in.Args[i+1], "=")
			if err := toml.Unmarshal([]byte(in.Args[i+1]), &config); err != nil {
				t.Fatalf("%s: %v", in.Args[i+1], err)
			}
			if key == "hooks.state" {
				var v struct {
					V map[string]struct {
						Hash string `toml:"trusted_hash"`
					} `toml:"v"`
				}
				if err := toml.Unmarshal([]byte("v="+value), &v); err != nil {
					t.Fatal(err)
				}
				for name, state := range v.V {
					trust[name] = state.Hash
				}
				continue
			}
			var v struct {
				V []struct {
					Hooks []handler `toml:"hooks"`
				} `toml:"v"`
			}
			d := toml.NewDecoder(strings.NewReader("v=" + value)).DisallowUnknownFields()
			if err := d.Decode(&v); err != nil || len(v.V) != 1 || len(v.V[0].Hooks) != 1 {
				t.Fatalf("%s: %v", value, err)
			}
			events[strings.TrimPrefix(key, "hooks.")] = v.V[0].Hooks[0]
		}
		if len(trust) != len(events) {
			t.Errorf("%d hooks are trusted of %d", len(trust), len(events))
		}
		for event, h := range events {
			verb, timeout := "report", reportTime
			if approvals && event == "PermissionRequest" {
				verb, timeout = "approve", approveTime
			}
			if _, known := codexEvents[event]; !known || h.Type != "command" || h.Timeout != timeout {
				t.Errorf("%s: %+v", event, h)
			}
			// Codex runs it in the user's shell.
			for _, shell := range []string{"sh", "bash", "zsh", "fish"} {
				if _, err := exec.LookPath(shell); err != nil {
					continue
				}
				if out := runs(t, shell, h.Command, record, verb+"|--agent|codex"); out != "" {
					t.Errorf("%s prints %q", event, out)
				}
			}
			// The hash is that of what was passed.
			label := strings.ToLower(strings.NewReplacer("SessionStart", "session_start", "UserPromptSubmit", "user_prompt_submit",
				"PermissionRequest", "permission_request", "PostToolUse", "post_tool_use").Replace(event))
			if got, want := trust["/<session-flags>/config.toml:"+label+":0:0"], codexHash(label, h.Command, h.Timeout); got != want {
				t.Errorf("%s: %q, want %q", event, got, want)
			}
		}
		for _, event := range []string{"UserPromptSubmit", "PermissionRequest", "Stop", "Interrupt"} {
			if events[event].Command == "" {
				t.Errorf("%s is not passed", event)
			}
		}
	}
}

func TestInjectGemini(t *testing.T) {
	executable, record := recorder(t)
	in := Profiles(nil, nil)["gemini"].Inject(executable)
	if !in.Hooks || in.Args != nil || in.Variable != "GEMINI_CLI_SYSTEM_SETTINGS_PATH" || in.Path != "settings.json" || in.Hidden != geminiSettings || len(in.Files) != 1 {
		t.Fatalf("%+v", in)
	}
	var settings struct {
		Hooks map[string][]hookGroup `json:"hooks"`
	}
	d := json.NewDecoder(bytes.NewReader(in.Files["settings.json"]))
	d.DisallowUnknownFields()
	if err := d.Decode(&settings); err != nil {
		t.Fatal(err)
	}
	for event, groups := range settings.Hooks {
		h := groups[0].Hooks[0]
		if _, known := geminiEvents[event]; !known || h.Timeout != reportTime*1000 {
			t.Errorf("%s: %+v", event, h)
		}
		runs(t, "sh", h.Command, record, "report|--agent|gemini")
	}
	for _, event := range []string{"BeforeAgent", "AfterAgent", "Notification"} {
		if settings.Hooks[event] == nil {
			t.Errorf("%s is not passed", event)
		}
	}
}

// The plugin reports events one after the other, and those of subagents only if
// they ask the user.
func TestInjectOpencode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node")
	}
	executable, record := recorder(t)
	in := Profiles(nil, nil)["opencode"].Inject(executable)
	if !in.Hooks || in.Args != nil || in.Variable != "OPENCODE_CONFIG_DIR" || in.Path != "" || len(in.Files) != 1 {
		t.Fatalf("%+v", in)
	}
	dir := t.TempDir()
	plugin := filepath.Join(dir, "plugin.mjs")
	if err := os.WriteFile(plugin, in.Files["plugins/middleman.js"], 0o600); err != nil {
		t.Fatal(err)
	}
	main := `
import * as plugin from "` + plugin + `"
for (const make of Object.values(plugin)) {
	const { event } = await make({})
	for (const e of JSON.parse(process.argv[2])) await event({ event: e })
}`
	script := filepath.Join(dir, "main.mjs")
	if err := os.WriteFile(script, []byte(main), 0o600); err != nil {
		t.Fatal(err)
	}
	events := `[
		{"type":"session.created","properties":{"info":{"id":"ses_1"}}},
		{"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"busy"}}},
		{"type":"message.part.updated","properties":{"sessionID":"ses_1"}},
		{"type":"session.created","properties":{"info":{"id":"ses_2","parentID":"ses_1"}}},
		{"type":"session.idle","properties":{"sessionID":"ses_2"}},
		{"type":"permission.v2.asked","data":{"sessionID":"ses_2","action":"bash"}},
		{"type":"session.idle","properties":{"sessionID":"ses_1"}}
	]`
	out, err := exec.Command(node, script, events).CombinedOutput()
	if err != nil || len(out) != 0 {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		text, ok := strings.CutPrefix(line, "report|--agent|opencode|")
		h, err := Decode("opencode", strings.NewReader(text), time.Time{})
		if !ok || err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got = append(got, fmt.Sprintf("%s %s %s", h.Event, h.Conversation, h.State))
	}
	want := []string{"session.created ses_1 ", "session.status ses_1 working", "permission.v2.asked  waiting", "session.idle ses_1 idle"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Hooks go in where a profile says which program it starts, and where they
// replace nothing of the user's.
func TestInject(t *testing.T) {
	own := map[string]Definition{
		"wrapped":  {Command: []string{"w"}, Like: "claude", Resume: []string{"w", "-r", conversationHole}},
		"plain":    {Command: []string{"claude"}},
		"settings": {Command: []string{"claude", "--settings", "mine.json"}, Like: "claude"},
		"joined":   {Command: []string{"claude"}, Resume: []string{"claude", "--settings=mine.json"}, Like: "claude"},
		"hooked":   {Command: []string{"codex", "-c", "hooks.Stop=[]"}, Like: "codex"},
		"plan":     {Command: []string{"codex", "-c", "model=x"}, Like: "codex"},
	}
	set := Profiles(own, nil)
	for name, want := range map[string]bool{
		"claude": true, "codex": true, "gemini": true, "opencode": true, "wrapped": true, "plan": true,
		"plain": false, "settings": false, "joined": false, "hooked": false,
		"agy": false, "copilot": false, "cursor": false, "amp": false, "aider": false, Shell: false,
	} {
		in := set[name].Inject("/opt/middleman")
		if in.Hooks != want || in.Hooks == (in.Args == nil && in.Files == nil) || in.About == "" {
			t.Errorf("%s: %+v", name, in)
		}
	}
	argv, err := set["wrapped"].Again("c-1", set["wrapped"].Inject("/opt/middleman").Args)
	if err != nil || len(argv) != 5 || argv[0] != "w" || argv[1] != "--settings" || !slices.Equal(argv[3:], []string{"-r", "c-1"}) {
		t.Errorf("%q, %v", argv, err)
	}
	argv, err = set["claude"].Launch("c-1", "-x", []string{"--settings", "{}"})
	if err != nil || !slices.Equal(argv, []string{"claude", "--settings", "{}", "--session-id", "c-1", " -x"}) {
		t.Errorf("%q, %v", argv, err)
	}
	p := Profile{Definition: Definition{Command: []string{"start-it"}, Resume: []string{"go-on", conversationHole}}}
	if argv, err = p.Again("c-1", []string{"-c", "x"}); err != nil || !slices.Equal(argv, []string{"go-on", "c-1", "-c", "x"}) {
		t.Errorf("%q, %v", argv, err)
	}
}

// A hook that cannot report disturbs no agent, whatever is at its path by now:
// with exit code 2 it would stop the agent's work.
func TestReportLine(t *testing.T) {
	for _, executable := range []string{"/nowhere/middleman", "/bin/false"} {
		for _, shell := range []string{"sh", "bash", "zsh", "fish"} {
			path, err := exec.LookPath(shell)
			if err != nil {
				continue
			}
			if err := exec.Command(path, "-c", reportLine([]string{executable, "report"})).Run(); err != nil {
				t.Errorf("%s, %s: %v", shell, executable, err)
			}
		}
	}
}

// Approvals need a hook that can answer.
func TestApprovals(t *testing.T) {
	for name, d := range map[string]Definition{
		"claude": {Command: []string{"x"}}, "w": {Command: []string{"w"}, Like: "codex"},
		"gemini": {Command: []string{"x"}}, "v": {Command: []string{"w"}},
	} {
		d.Approvals = true
		err := d.Check(name)
		if ok := name == "claude" || name == "w"; ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "approvals: only claude and codex") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
