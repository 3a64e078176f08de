package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pelletier/go-toml/v2"
)

// standin is a program that speaks the documented protocol of a coding agent:
// it takes the agent's arguments and variables, runs the hooks that it finds
// there, sets titles, draws dialogs and takes keys. Nothing of it was taken
// from an agent, so it proves our side alone.
//
//	standin AGENT [the agent's arguments]
//
// What is typed, a line each, is what it does next: a state of acts, or one of
// the words in do.
func standin() {
	if err := runStandin(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprint(os.Stdout, "\x1b[2J\x1b[Hstandin: ", err, "\r\n")
		os.Exit(70)
	}
}

// act is how an agent shows a state.
type act struct {
	title, screen string
	event         string // of the hook, "" for none
	fields        map[string]any
}

const (
	claudeDone   = "● Done.\r\n\r\n"
	claudeReady  = "╭──────────────╮\r\n│ >            │\r\n╰──────────────╯\r\n  ? for shortcuts\r\n"
	claudeDialog = " Bash command\r\n   rm -r build\r\n Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. Yes, and don't ask again\r\n   3. No, and tell Claude what to do differently (esc)\r\n"
	claudeBusy   = "✻ Brewing… (12s · ↓ 1.2k tokens · esc to interrupt)\r\n\r\n╭──────────────╮\r\n│ >            │\r\n╰──────────────╯\r\n"
	codexDialog  = "  Would you like to run the following command?\r\n  $ rm -r build\r\n› 1. Yes, proceed (y)\r\n  2. No, and tell Codex what to do differently (esc)\r\n"
	geminiDialog = "│ Allow execution of: 'rm'? │\r\n│ ● 1. Yes, allow once │\r\n│   2. No, suggest changes (esc) │\r\n"
	geminiReady  = "╭──────────────────────╮\r\n│ > Type your message  │\r\n╰──────────────────────╯\r\n"
	nothingKnown = "something that no rule knows\r\n"
)

var bash = map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "rm -r build"}}

// acts are the states of each agent.
var acts = map[string]map[string]act{
	"claude": {
		"working":    {"⠂ Fix the login", claudeBusy, "UserPromptSubmit", map[string]any{"prompt": "fix"}},
		"permission": {"", claudeDialog, "PermissionRequest", bash},
		"question": {"", nothingKnown, "PreToolUse", map[string]any{
			"tool_name": "AskUserQuestion", "tool_input": map[string]any{"questions": []any{map[string]any{"question": "Which port?"}}},
		}},
		"login":      {"✳ Fix the login", "Select login method:\r\n ❯ 1. Account\r\n   2. Console\r\n", "StopFailure", map[string]any{"error": "authentication_failed"}},
		"rate limit": {"✳ Fix the login", nothingKnown, "StopFailure", map[string]any{"error": "rate_limit"}},
		"idle":       {"✳ Fix the login", claudeDone + claudeReady, "Stop", map[string]any{"background_tasks": []any{}}},
		"background": {"✳ Fix the login", claudeDone + claudeReady, "Stop", map[string]any{"background_tasks": []any{map[string]any{"id": "b1", "status": "running", "description": "Dev server"}}}},
		"failed":     {"✳ Fix the login", nothingKnown, "StopFailure", map[string]any{"error": "server_error"}},
	},
	"codex": {
		"working":    {"⠋ repo", "• Working (3s • esc to interrupt)\r\n\r\n› Ask\r\n", "UserPromptSubmit", map[string]any{"prompt": "fix"}},
		"permission": {"Action Required | repo", codexDialog, "PermissionRequest", bash},
		"idle":       {"repo", "› Ask\r\n", "Stop", map[string]any{"stop_hook_active": false}},
	},
	"gemini": {
		"working":    {"", "⠏ Thinking (esc to cancel, 4s)\r\n\r\n" + geminiReady, "BeforeAgent", map[string]any{"prompt": "fix"}},
		"permission": {"", geminiDialog, "Notification", map[string]any{"notification_type": "ToolPermission", "message": "Tool Shell requires execution"}},
		"idle":       {"", geminiReady, "AfterAgent", map[string]any{"prompt_response": "done"}},
	},
	"opencode": {
		"working":    {"", nothingKnown, "session.status", map[string]any{"status": map[string]any{"type": "busy"}}},
		"permission": {"", nothingKnown, "permission.v2.asked", map[string]any{"id": "per_1", "action": "bash", "resources": []string{"rm *"}}},
		"question":   {"", nothingKnown, "question.asked", map[string]any{"questions": []any{map[string]any{"question": "Which port?"}}}},
		"login":      {"", nothingKnown, "session.error", map[string]any{"error": map[string]any{"name": "ProviderAuthError"}}},
		"rate limit": {"", nothingKnown, "session.status", map[string]any{"status": map[string]any{"type": "retry", "message": "Overloaded"}}},
		"idle":       {"", nothingKnown, "session.idle", nil},
		"failed":     {"", nothingKnown, "session.error", map[string]any{"error": map[string]any{"name": "APIError"}}},
	},
	"amp": {
		"working":    {"⠇ fix", nothingKnown, "", nil},
		"permission": {"Plugin confirmation needed", nothingKnown, "", nil},
		"idle":       {"amp", nothingKnown, "", nil},
	},
	"agy": {
		"working":    {"", "⠧ Generating...\r\n> \r\n", "", nil},
		"permission": {"", "Requesting permission for: rm\r\nDo you want to proceed?\r\n> 1. Yes\r\n", "", nil},
		"idle":       {"", "> \r\n", "", nil},
	},
	"copilot": {
		"working":  {"", "∙ Thinking (Esc to cancel)\r\n> \r\n", "", nil},
		"question": {"", "May I?\r\n❯ 1. Yes\r\n  2. No\r\nEnter to select · Esc to cancel\r\n", "", nil},
		"idle":     {"", "> \r\n", "", nil},
	},
	"cursor": {
		"working":    {"", "⬢ Reading\r\n  ctrl+c to stop\r\n", "", nil},
		"permission": {"", "Run this command?\r\n → Run (once) (y)\r\n   Skip (esc or n)\r\n", "", nil},
		"idle":       {"", "→ Add a follow-up\r\n", "", nil},
	},
	"aider": plain,
}

// plain are the states of an agent of which we know neither titles nor such screens: it
// asks in the last row, where the stand-in says what it did.
var plain = map[string]act{
	"working":    {"", "working\r\n", "", nil},
	"permission": {"", "may I?\r\n", "", nil},
	"idle":       {"", "> \r\n", "", nil},
}

// runningStandin is a stand-in that runs.
type runningStandin struct {
	agent        string
	conversation string
	// run passes an event to the hooks, as the agent does.
	run func(event string, payload []byte) error
	// asked is set while a request of OpenCode waits.
	asked bool
	// quiet are the channels that it does not use: hook, title, screen.
	quiet map[string]bool
	now   string // the state that it shows
	done  int    // commands
}

func runStandin(agent string, args []string) error {
	if len(args) == 1 && args[0] == "--version" {
		fmt.Println("1.0.0 (stand-in)")
		return nil
	}
	if err := rawOutput(); err != nil {
		return err
	}
	s := &runningStandin{agent: agent, quiet: map[string]bool{}, run: func(string, []byte) error { return nil }}
	if err := s.begin(args); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "ready %s\r\n", s.conversation)
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := readCommand(in, s.now == "permission")
		if err != nil {
			return err
		}
		began := time.Now()
		if err := s.do(line); err != nil {
			return err
		}
		s.done++
		fmt.Fprintf(os.Stdout, "  did %d. %d\r\n", s.done, began.UnixNano())
	}
}

// readCommand reads a line or, at once, Esc or the answer of a dialog.
func readCommand(in *bufio.Reader, dialog bool) (string, error) {
	var line []byte
	for {
		c, err := in.ReadByte()
		switch {
		case err != nil:
			return "", err
		case c == 0x1b && len(line) == 0:
			return "esc", nil
		case dialog && c == '1' && len(line) == 0:
			return "allowed", nil
		case c == '\n' || c == '\r':
			if len(line) > 0 {
				return string(line), nil
			}
		default:
			line = append(line, c)
		}
	}
}

// begin takes the arguments, finds the hooks, and reports the conversation.
func (s *runningStandin) begin(args []string) error {
	s.conversation = "c0ffee00-0000-4000-8000-000000000001"
	for i, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if value == "" && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "--session-id", "--resume", "--conversation", "resume", "--session":
			s.conversation = value
		}
	}
	switch s.agent {
	case "claude":
		return s.beginClaude(args)
	case "codex":
		return s.beginCodex(args)
	case "gemini":
		return s.beginGemini()
	case "opencode":
		return s.beginOpencode()
	}
	return nil
}

// event makes the documented JSON of an event and passes it on.
func (s *runningStandin) event(event string, fields map[string]any) error {
	if event == "" || s.quiet["hook"] {
		return nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	payload := map[string]any{"session_id": s.conversation, "transcript_path": nil, "cwd": dir, "hook_event_name": event}
	if s.agent == "opencode" {
		if event == "session.status" && s.now == "working" && s.asked { // it works on once that was answered
			s.asked = false
			if err := s.event("permission.v2.replied", map[string]any{"requestID": "per_1", "reply": "once"}); err != nil {
				return err
			}
		}
		s.asked = s.asked || event == "permission.v2.asked"
		properties := map[string]any{"sessionID": s.conversation}
		for key, value := range fields {
			properties[key] = value
		}
		payload, fields = map[string]any{"type": event, "properties": properties}, nil
	}
	for key, value := range fields {
		payload[key] = value
	}
	data, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	return s.run(event, data)
}

// show draws a state.
func (s *runningStandin) show(a act) {
	if a.title != "" && !s.quiet["title"] {
		fmt.Fprintf(os.Stdout, "\x1b]0;%s\a", a.title)
	}
	if !s.quiet["screen"] {
		fmt.Fprint(os.Stdout, "\x1b[2J\x1b[H", a.screen)
	}
}

// act takes a state: it draws and reports it.
func (s *runningStandin) act(state string) error {
	a := acts[s.agent][state]
	s.now = state
	s.show(a)
	return s.event(a.event, a.fields)
}

// do does what was typed.
func (s *runningStandin) do(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	switch {
	case acts[s.agent][line].screen != "":
		return s.act(line)
	case verb == "only": // channels
		for _, channel := range []string{"hook", "title", "screen"} {
			s.quiet[channel] = rest != "all" && !strings.Contains(rest, channel)
		}
	case verb == "event": // another event, of whatever hooks there are
		return s.run(acts[s.agent]["working"].event, fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":%q}`, s.conversation, rest))
	case verb == "large": // a request of so many bytes
		n, err := strconv.Atoi(rest)
		if err != nil {
			return err
		}
		s.now = "permission"
		return s.event("PermissionRequest", map[string]any{"tool_name": "Write", "tool_input": map[string]any{"content": strings.Repeat("x", n), "file_path": "/w/large"}})
	case verb == "may": // asks for a command, of its hook first
		s.now = "permission"
		s.show(acts[s.agent]["permission"])
		return s.event("PermissionRequest", map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": rest}})
	case line == "broken": // what no hook should be passed
		return s.run(acts[s.agent]["working"].event, []byte(`{"session_id":"x","hook_event_name":"Sto`))
	case line == "esc":
		return s.interrupt()
	case line == "allowed":
		s.now = "working"
		s.show(acts[s.agent]["working"])
		if s.agent == "opencode" {
			return s.event("permission.v2.replied", map[string]any{"requestID": "per_1", "reply": "once"})
		}
		return s.event(map[string]string{"claude": "PostToolUse", "codex": "PostToolUse", "gemini": "AfterTool"}[s.agent], bash)
	case line == "scroll": // a dialog in old scrollback
		fmt.Fprint(os.Stdout, claudeDialog)
		s.show(act{screen: strings.Repeat("output\r\n", 60) + claudeDone + claudeReady})
	case line == "quote": // a dialog within output
		s.show(act{screen: "● The tests print:\r\n" + claudeDialog + claudeDone + claudeReady})
	case line == "above": // a dialog, and a sign of work, as the last of the output
		s.show(act{screen: "● It shows:\r\n" + claudeBusy + claudeDialog + claudeDone + claudeReady})
	case line == "second": // the second option is selected, below what looks like a prompt
		dialog := strings.NewReplacer("❯ 1.", "  1.", "  2.", "❯ 2.").Replace(claudeDialog)
		s.show(act{"✳ Fix the login", "● Bash(npm run build)\r\n> app@1.0.0 build\r\n> tsc\r\n\r\n" + dialog, "", nil})
	case line == "star": // a title as of idleness
		s.show(act{"✳ Fix the login", nothingKnown, "", nil})
	case verb == "exit":
		code, err := strconv.Atoi(rest)
		if err != nil {
			return err
		}
		os.Exit(code)
	default:
		return fmt.Errorf("there is no %q", line)
	}
	return nil
}

// interrupted is what agents print after Esc.
var interrupted = map[string]string{
	"claude": "  ⎿  Interrupted · What should Claude do instead?\r\n\r\n",
	"codex":  "■ Conversation interrupted - tell the model what to do differently.\r\n\r\n",
}

// interrupt is Esc: the turn ends, and only Codex reports that.
func (s *runningStandin) interrupt() error {
	s.now = "idle"
	idle := acts[s.agent]["idle"]
	idle.screen = interrupted[s.agent] + strings.TrimPrefix(idle.screen, claudeDone)
	s.show(idle)
	if s.agent == "codex" {
		return s.event("Interrupt", nil)
	}
	return nil
}

// group is what Claude Code and Gemini CLI have in their settings for an event.
type group struct {
	Matcher string
	Hooks   []struct {
		Type, Command string
		Timeout       float64
		Async         bool
	}
}

// settingsHooks runs the hooks of settings. unit is that of their timeouts.
// judge is called with what a hook that is waited for prints and its exit code.
func (s *runningStandin) settingsHooks(data []byte, unit time.Duration, judge func(event string, out []byte, code int) error) error {
	var settings struct{ Hooks map[string][]group }
	if err := json.Unmarshal(data, &settings); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	s.run = func(event string, payload []byte) error {
		var f struct {
			Tool string `json:"tool_name"`
		}
		_ = json.Unmarshal(payload, &f)
		for _, g := range settings.Hooks[event] {
			if g.Matcher != "" && g.Matcher != "*" && !regexp.MustCompile(`^(?:`+g.Matcher+`)$`).MatchString(f.Tool) {
				continue
			}
			for _, h := range g.Hooks {
				if h.Async {
					go runHook("/bin/sh", h.Command, payload, time.Duration(h.Timeout*float64(unit)))
					continue
				}
				out, code := runHook("/bin/sh", h.Command, payload, time.Duration(h.Timeout*float64(unit)))
				if err := judge(event, out, code); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return s.event("SessionStart", map[string]any{"source": "startup"})
}

// runHook runs a hook, and returns what it prints and its exit code: -1 if it
// took longer than it may.
func runHook(shell, command string, payload []byte, limit time.Duration) (out []byte, code int) {
	cmd := exec.Command(shell, "-c", command)
	cmd.Stdin = bytes.NewReader(payload)
	var printed bytes.Buffer
	cmd.Stdout = &printed
	if err := cmd.Start(); err != nil {
		return nil, 127
	}
	timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	timer.Stop()
	return printed.Bytes(), exitStatus(err)
}

// decided takes what a hook prints: the decision on a request for a permission.
func (s *runningStandin) decided(event string, out []byte) error {
	var answer struct {
		Specific struct {
			Event    string `json:"hookEventName"`
			Decision struct {
				Behavior string `json:"behavior"`
				Message  string `json:"message"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.DisallowUnknownFields() // as Codex does
	if err := d.Decode(&answer); err != nil || event != "PermissionRequest" || answer.Specific.Event != event {
		return fmt.Errorf("the hook of %s prints %q", event, out)
	}
	if answer.Specific.Decision.Behavior == "allow" {
		return s.do("allowed")
	}
	return s.interrupt()
}

// beginClaude takes --settings, a file or JSON.
func (s *runningStandin) beginClaude(args []string) error {
	for i, arg := range args {
		if arg != "--settings" || i+1 == len(args) {
			continue
		}
		data := []byte(args[i+1])
		if !strings.HasPrefix(args[i+1], "{") {
			var err error
			if data, err = os.ReadFile(args[i+1]); err != nil {
				return err
			}
		}
		return s.settingsHooks(data, time.Second, func(event string, out []byte, code int) error {
			switch {
			case code == 2:
				return fmt.Errorf("the hook of %s blocks", event)
			case len(out) > 0:
				return s.decided(event, out)
			}
			return nil
		})
	}
	return nil
}

// beginGemini reads the system's settings.
func (s *runningStandin) beginGemini() error {
	path := os.Getenv("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return s.settingsHooks(data, time.Millisecond, func(event string, out []byte, code int) error {
		if code != 0 || !json.Valid(out) {
			return fmt.Errorf("the hook of %s prints %q, exit code %d: that is no JSON object", event, out, code)
		}
		return nil
	})
}

// beginCodex takes hooks by -c. One that is not trusted stops the start, as in
// the terminal of Codex.
func (s *runningStandin) beginCodex(args []string) error {
	var config struct {
		Hooks map[string]any `toml:"hooks"`
	}
	for i, arg := range args {
		if arg == "-c" && i+1 < len(args) {
			if err := toml.Unmarshal([]byte(args[i+1]), &config); err != nil {
				return fmt.Errorf("-c %s: %w", args[i+1], err)
			}
		}
	}
	state, _ := config.Hooks["state"].(map[string]any)
	s.run = func(event string, payload []byte) error {
		groups, _ := config.Hooks[event].([]any)
		for i, g := range groups {
			handlers, _ := g.(map[string]any)["hooks"].([]any)
			for j, h := range handlers {
				handler, _ := h.(map[string]any)
				label := snake(event)
				identity := map[string]any{"event_name": label, "hooks": []any{map[string]any{
					"type": handler["type"], "command": handler["command"], "timeout": handler["timeout"], "async": false,
				}}}
				var text bytes.Buffer
				e := json.NewEncoder(&text)
				e.SetEscapeHTML(false)
				if err := e.Encode(identity); err != nil {
					return err
				}
				entry, _ := state[fmt.Sprintf("/<session-flags>/config.toml:%s:%d:%d", label, i, j)].(map[string]any)
				if want := fmt.Sprintf("sha256:%x", sha256.Sum256(bytes.TrimSpace(text.Bytes()))); entry["trusted_hash"] != want {
					return fmt.Errorf("hooks need review: that of %s is not trusted", event)
				}
				command, _ := handler["command"].(string)
				timeout, _ := handler["timeout"].(int64)
				out, code := runHook("/bin/sh", command, payload, time.Duration(timeout)*time.Second)
				if code != 0 {
					return fmt.Errorf("the hook of %s: exit code %d", event, code)
				}
				if len(out) > 0 {
					return s.decided(event, out)
				}
			}
		}
		return nil
	}
	return s.event("SessionStart", map[string]any{"source": "startup"})
}

// snake returns PermissionRequest as permission_request.
func snake(event string) string {
	var b strings.Builder
	for i, r := range event {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// beginOpencode loads the plugins of OPENCODE_CONFIG_DIR, in a JavaScript
// engine.
func (s *runningStandin) beginOpencode() error {
	s.conversation = "ses_1"
	plugins, err := filepath.Glob(filepath.Join(os.Getenv("OPENCODE_CONFIG_DIR"), "plugins", "*.js"))
	if err != nil || len(plugins) == 0 {
		return err
	}
	host := exec.Command("node", append([]string{"--input-type=module", "--eval", pluginHost, "--"}, plugins...)...)
	host.Stderr = os.Stderr
	in, err := host.StdinPipe()
	if err != nil {
		return err
	}
	if err := host.Start(); err != nil {
		return err
	}
	s.run = func(_ string, payload []byte) error {
		_, err := fmt.Fprintf(in, "%s\n", payload)
		if errors.Is(err, io.ErrClosedPipe) {
			err = errors.New("the plugin has ended")
		}
		return err
	}
	return s.event("session.created", map[string]any{"info": map[string]any{"id": s.conversation}})
}

const pluginHost = `
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"
const hooks = []
for (const file of process.argv.slice(1)) {
	const plugin = await import("data:text/javascript," + encodeURIComponent(readFileSync(file, "utf8")))
	for (const make of Object.values(plugin)) hooks.push(await make({}))
}
for await (const line of createInterface({ input: process.stdin }))
	for (const h of hooks) await h.event({ event: JSON.parse(line) })
`
