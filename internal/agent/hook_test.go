package agent

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 11, 23, 18, 0, 0, 0, time.UTC)

// What each agent's hooks say, in the documented form, and what is made of it.
func TestDecode(t *testing.T) {
	const claude = `{"session_id":"9f0c4d7e-1111-4222-8333-444455556666","transcript_path":"/t.jsonl","cwd":"/w","permission_mode":"default","hook_event_name":`
	const codex = `{"session_id":"019a","turn_id":"t1","transcript_path":null,"cwd":"/w","model":"m","permission_mode":"default","hook_event_name":`
	const gemini = `{"session_id":"g-1","transcript_path":"/t.json","cwd":"/w","timestamp":"2026-11-23T18:00:00Z","hook_event_name":`
	for _, tt := range []struct {
		name, agent, in string
		event           string
		state           State
		kind            Kind
		reason          string
	}{
		{"claude starts", "claude", claude + `"SessionStart","source":"startup"}`, "SessionStart", "", "", ""},
		{"a prompt", "claude", claude + `"UserPromptSubmit","prompt":"fix it"}`, "UserPromptSubmit", Working, "", ""},
		{"a tool", "claude", claude + `"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`, "PreToolUse", Working, "", ""},
		{"a subagent's tool", "claude", claude + `"PostToolUse","agent_id":"a1","agent_type":"Explore","tool_name":"Bash"}`, "PostToolUse", "", "", ""},
		{"a subagent asks", "claude", claude + `"PermissionRequest","agent_id":"a1","tool_name":"Bash","tool_input":{"command":"make"}}`, "PermissionRequest", Waiting, Permission, "Bash: make"},
		{"a question", "claude", claude + `"PreToolUse","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which\nport?","header":"Port"}]}}`, "PreToolUse", Waiting, Question, "Which port?"},
		{"a question without a text", "claude", claude + `"PreToolUse","tool_name":"AskUserQuestion","tool_input":7}`, "PreToolUse", Waiting, Question, "asks a question"},
		{"a plan", "claude", claude + `"PreToolUse","tool_name":"ExitPlanMode","tool_input":{"plan":"1. x"}}`, "PreToolUse", Waiting, Permission, "asks to carry out its plan"},
		{"a permission", "claude", claude + `"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -r build\nls","description":"Clean"},"permission_suggestions":[]}`, "PermissionRequest", Waiting, Permission, "Bash: rm -r build ls"},
		{"a file", "claude", claude + `"PermissionRequest","tool_name":"Write","tool_input":{"content":"x","file_path":"/w/a.go"}}`, "PermissionRequest", Waiting, Permission, "Write: /w/a.go"},
		{"a tool without arguments", "claude", claude + `"PermissionRequest","tool_name":"mcp__x__y"}`, "PermissionRequest", Waiting, Permission, "mcp__x__y"},
		{"no sign of waiting", "claude", claude + `"Notification","notification_type":"permission_prompt","message":"Claude needs your permission"}`, "Notification", "", "", ""},
		{"the turn ends", "claude", claude + `"Stop","stop_hook_active":false,"last_assistant_message":"done","background_tasks":[],"session_crons":[]}`, "Stop", Idle, "", ""},
		{"work goes on", "claude", claude + `"Stop","background_tasks":[{"id":"b0","status":"completed","description":"old"},{"id":"b1","type":"shell","status":"running","description":"Dev server"},{"id":"b2","status":"running","command":"x"}]}`, "Stop", Idle, Background, "in the background: 1 more and Dev server"},
		{"no work goes on", "claude", claude + `"Stop","background_tasks":[{"id":"b0","status":"completed"}]}`, "Stop", Idle, "", ""},
		{"a subagent ends", "claude", claude + `"SubagentStop","agent_id":"a1"}`, "SubagentStop", "", "", ""},
		{"the rate limit", "claude", claude + `"StopFailure","error":"rate_limit"}`, "StopFailure", Waiting, RateLimit, "the rate limit is reached"},
		{"a login", "claude", claude + `"StopFailure","error":"authentication_failed"}`, "StopFailure", Waiting, Login, "asks for a login: authentication_failed"},
		{"a failed turn", "claude", claude + `"StopFailure","error":"server_error"}`, "StopFailure", Failed, "", "the turn ended by an error: server_error"},
		{"a failed turn without a reason", "claude", claude + `"StopFailure","error":{}}`, "StopFailure", Failed, "", "the turn ended by an error"},
		{"an elicitation", "claude", claude + `"Elicitation","mcp_server_name":"db","message":"Which table?"}`, "Elicitation", Waiting, Question, "Which table?"},
		{"/compact", "claude", claude + `"PostCompact","trigger":"manual"}`, "PostCompact", Idle, "", ""},
		{"compaction within a turn", "claude", claude + `"PostCompact","trigger":"auto"}`, "PostCompact", Working, "", ""},

		{"codex starts", "codex", codex + `"SessionStart","source":"resume"}`, "SessionStart", "", "", ""},
		{"codex asks", "codex", codex + `"PermissionRequest","tool_name":"Bash","tool_input":{"command":"git push","description":"needs network"}}`, "PermissionRequest", Waiting, Permission, "Bash: git push"},
		{"codex works", "codex", codex + `"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":"x"}`, "PostToolUse", Working, "", ""},
		{"codex is done", "codex", codex + `"Stop","stop_hook_active":false,"last_assistant_message":null}`, "Stop", Idle, "", ""},
		{"Esc in codex", "codex", codex + `"Interrupt"}`, "Interrupt", Idle, "", ""},

		{"gemini works", "gemini", gemini + `"BeforeAgent","prompt":"x"}`, "BeforeAgent", Working, "", ""},
		{"gemini asks", "gemini", gemini + `"Notification","notification_type":"ToolPermission","message":"Tool Shell requires execution","details":{"type":"exec","title":"Confirm Shell Command","command":"ls"}}`, "Notification", Waiting, Permission, "Confirm Shell Command: ls"},
		{"gemini asks, in short", "gemini", gemini + `"Notification","notification_type":"ToolPermission","message":"Tool Shell requires execution"}`, "Notification", Waiting, Permission, "Tool Shell requires execution"},
		{"gemini tells", "gemini", gemini + `"Notification","notification_type":"Other","message":"x"}`, "Notification", "", "", ""},
		{"gemini is done", "gemini", gemini + `"AfterAgent","prompt":"x","prompt_response":"y"}`, "AfterAgent", Idle, "", ""},

		{"opencode works", "opencode", `{"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"busy"}}}`, "session.status", Working, "", ""},
		{"opencode is idle", "opencode", `{"type":"session.status","data":{"sessionID":"ses_1","status":{"type":"idle"}}}`, "session.status", Idle, "", ""},
		{"opencode tries again", "opencode", `{"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"retry","attempt":2,"message":"Overloaded"}}}`, "session.status", Waiting, RateLimit, "tries again: Overloaded"},
		{"opencode in a new status", "opencode", `{"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"dreams"}}}`, "session.status", "", "", ""},
		{"opencode asks", "opencode", `{"type":"permission.asked","properties":{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["git push *"],"metadata":{}}}`, "permission.asked", Waiting, Permission, "bash: git push *"},
		{"opencode 2 asks", "opencode", `{"type":"permission.v2.asked","data":{"id":"per_1","sessionID":"ses_1","action":"bash","resources":["rm *"],"metadata":{"command":"rm -r x"}}}`, "permission.v2.asked", Waiting, Permission, "bash: rm -r x"},
		{"opencode was answered", "opencode", `{"type":"permission.replied","properties":{"sessionID":"ses_1","requestID":"per_1","reply":"once"}}`, "permission.replied", Working, "", ""},
		{"opencode has a question", "opencode", `{"type":"question.asked","properties":{"sessionID":"ses_1","questions":[{"question":"Which?","header":"h"}]}}`, "question.asked", Waiting, Question, "Which?"},
		{"Esc in opencode", "opencode", `{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"MessageAbortedError","data":{"message":"x"}}}}`, "session.error", Idle, "", ""},
		{"opencode wants a login", "opencode", `{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"ProviderAuthError","data":{"message":"no key"}}}}`, "session.error", Waiting, Login, "ProviderAuthError: no key"},
		{"opencode fails", "opencode", `{"type":"session.error","properties":{"sessionID":"ses_1","error":{"name":"APIError","data":{"message":"500"}}}}`, "session.error", Failed, "", "the turn ended by an error: APIError: 500"},

		{"agy", "agy", `{"conversationId":"c-1","transcriptPath":"/t","toolCall":{"name":"x","args":{}}}`, "hook", "", "", ""},
		{"copilot", "copilot", `{"sessionId":"c-1","timestamp":1704614400000,"cwd":"/w","toolName":"bash","toolArgs":"{}"}`, "hook", "", "", ""},
		{"copilot with a name", "copilot", `{"session_id":"c-1","hook_event_name":"Stop"}`, "Stop", "", "", ""},
		{"cursor", "cursor", `{"conversation_id":"c-1","generation_id":"g","hook_event_name":"beforeShellExecution","command":"ls"}`, "beforeShellExecution", "", "", ""},
		{"amp", "amp", `{"event":"agent.end","threadID":"T-1"}`, "agent.end", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Decode(tt.agent, strings.NewReader(tt.in), at)
			if err != nil {
				t.Fatal(err)
			}
			asked := tt.agent == "opencode" && !strings.HasPrefix(tt.event, "session.") // by a subagent, it may be
			if (got.Conversation == "") != asked {
				t.Errorf("the conversation is %q", got.Conversation)
			}
			want := Hook{Agent: tt.agent, Event: tt.event, At: at, Conversation: got.Conversation, State: tt.state, Kind: tt.kind, Reason: tt.reason}
			if err := got.Check(); err != nil {
				t.Error(err)
			}
			got.Turn, got.Begins, got.Tool, got.Call = "", false, "", "" // see TestDecodeIDs
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// An event says which turn and which call of a tool it is about, where its agent does.
func TestDecodeIDs(t *testing.T) {
	const tool = `"tool_name":"Bash","tool_input":{"command":"make"}`
	for _, tt := range []struct {
		agent, in  string
		turn       string
		begins     bool
		tool, call string
	}{
		{"claude", `{"hook_event_name":"UserPromptSubmit","prompt_id":"p1"}`, "p1", true, "", ""},
		{"claude", `{"hook_event_name":"PermissionRequest","prompt_id":"p1",` + tool + `}`, "p1", false, "", "Bash: make"},
		{"claude", `{"hook_event_name":"PostToolUse","tool_use_id":"toolu_A",` + tool + `}`, "", false, "toolu_A", "Bash: make"},
		{"claude", `{"hook_event_name":"Stop","prompt_id":"\u001b","tool_use_id":7}`, "", false, "", ""},
		{"codex", `{"hook_event_name":"UserPromptSubmit","turn_id":"1"}`, "1", true, "", ""},
		{"codex", `{"hook_event_name":"Stop","turn_id":"1"}`, "1", false, "", ""},
		{"gemini", `{"hook_event_name":"AfterTool","turn_id":"1",` + tool + `}`, "", false, "", ""},
		{"opencode", `{"type":"permission.v2.asked","data":{"id":"per_1","action":"bash"}}`, "", false, "per_1", ""},
		{"opencode", `{"type":"permission.v2.replied","data":{"requestID":"per_1"}}`, "", false, "per_1", ""},
	} {
		h, err := Decode(tt.agent, strings.NewReader(tt.in), at)
		if err != nil || h.Check() != nil || h.Turn != tt.turn || h.Begins != tt.begins || h.Tool != tt.tool || h.Call != tt.call {
			t.Errorf("%s: %+v, %v, %v", tt.in, h, err, h.Check())
		}
	}
}

// An event that this version does not know is counted, and changes nothing.
func TestDecodeUnknownEvent(t *testing.T) {
	for agent, in := range map[string]string{
		"claude":   `{"session_id":"s","hook_event_name":"PermissionRequested","tool_name":"Bash"}`,
		"codex":    `{"session_id":"s","hook_event_name":"Halt"}`,
		"gemini":   `{"session_id":"s","hook_event_name":"Stop"}`,
		"opencode": `{"type":"session.paused","properties":{"sessionID":"s"}}`,
		"cursor":   `{"conversation_id":"s","hook_event_name":"Stop"}`,
	} {
		h, err := Decode(agent, strings.NewReader(in), at)
		if err != nil || !h.Unknown || h.State != "" || h.Reason != "" || h.Conversation != "s" || h.Check() != nil {
			t.Errorf("%s: %+v, %v", agent, h, err)
		}
	}
}

// endless counts what is read of it.
type endless struct{ left, read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	copy(p, bytes.Repeat([]byte("a"), n))
	e.left, e.read = e.left-n, e.read+n
	return n, nil
}

func TestDecodeBroken(t *testing.T) {
	for _, tt := range []struct{ name, agent, in, want string }{
		{"another agent", "nobody", `{}`, "there are hooks of agy, amp, claude"},
		{"no agent", "", `{}`, "there are hooks of"},
		{"a shell has none", Shell, `{}`, "there are hooks of"},
		{"nothing", "claude", ``, "it is no JSON object"},
		{"half", "claude", `{"session_id":"x","hook_event_name":"Stop"`, "it is no JSON object"},
		{"two", "claude", `{"hook_event_name":"Stop"}{}`, "it is no JSON object"},
		{"a list", "claude", `[]`, "it is no JSON object"},
		{"null", "claude", `null`, "it is no JSON object"},
		{"no event", "claude", `{"session_id":"x"}`, "no valid name of an event in hook_event_name"},
		{"an event of another type", "claude", `{"hook_event_name":["Stop"]}`, "no valid name of an event"},
		{"an event with an escape", "claude", `{"hook_event_name":"Stop\u001b[2J"}`, "no valid name of an event"},
		{"a long event", "cursor", `{"hook_event_name":"` + strings.Repeat("s", 65) + `"}`, "no valid name of an event"},
		{"deep", "claude", strings.Repeat(`{"a":`, 20000), "it is no JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, err := Decode(tt.agent, strings.NewReader(tt.in), at)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.ContainsAny(err.Error(), "\n\x1b") || h != (Hook{}) {
				t.Errorf("%+v, %v", h, err)
			}
		})
	}
	// An agent must not see its hook close a pipe early.
	e := &endless{left: maxHook + 1<<20}
	if _, err := Decode("claude", e, at); err == nil || !strings.Contains(err.Error(), "more than 4 MiB") || e.left != 0 {
		t.Errorf("%v, and %d bytes are left", err, e.left)
	}
}

// A tool's input of 1 MB is ordinary, and what is kept of it fits into a line.
func TestDecodeLarge(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 1<<20), strings.Repeat("é\n", 1<<19), strings.Repeat("\x1b[2J", 1<<18), strings.Repeat("\u202e", 1<<18)} {
		in, err := json.Marshal(map[string]any{
			"tool_input": map[string]string{"command": text}, "tool_name": "Bash",
			"session_id": text[:1000], "hook_event_name": "PermissionRequest",
		})
		if err != nil {
			t.Fatal(err)
		}
		h, err := Decode("claude", bytes.NewReader(in), at)
		if err != nil || h.State != Waiting || len([]rune(h.Reason)) > maxReason || strings.ContainsAny(h.Reason, "\n\x1b\u202e") || h.Conversation != "" || h.Check() != nil {
			t.Errorf("%+v, %v", h, err)
		}
	}
}

// What the server is sent need not come from Decode.
func TestHookCheck(t *testing.T) {
	good := Hook{Agent: "claude", Event: "Stop", At: at, State: Idle}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Hook){
		"agent is":        func(h *Hook) { h.Agent = "shell" },
		"event is":        func(h *Hook) { h.Event = "a b" },
		"conversation is": func(h *Hook) { h.Conversation = "--help" },
		"state is":        func(h *Hook) { h.State = Done },
		"kind is":         func(h *Hook) { h.Kind = Login },
		"go together":     func(h *Hook) { h.State = Waiting },
		"reason":          func(h *Hook) { h.Reason = "a\nb" },
		"most":            func(h *Hook) { h.Reason = strings.Repeat("x", maxReason+1) },
		"unknown":         func(h *Hook) { h.Unknown = true },
	} {
		h := good
		change(&h)
		if err := h.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The protocols belong to built-in profiles, and a state that an event has is
// one that a report may have.
func TestProtocols(t *testing.T) {
	for agent, p := range protocols {
		if !IsBuiltIn(agent) || len(p.event) == 0 || p.conversation == nil || p.nameless == (len(p.events) > 0) {
			t.Errorf("%s: %+v", agent, p)
		}
		for event, read := range p.events {
			if !validEvent().MatchString(event) {
				t.Errorf("%s: %q", agent, event)
			}
			if read == nil {
				continue
			}
			state, kind, reason := read(fields{})
			h := Hook{Agent: agent, Event: event, State: state, Kind: kind, Reason: oneLine(reason)}
			if err := h.Check(); err != nil {
				t.Errorf("%s, %s: %v", agent, event, err)
			}
		}
	}
}

// FuzzDecode: whatever a hook is passed, there is an error or a report that the
// server takes, and it says the same once it was sent.
func FuzzDecode(f *testing.F) {
	for _, agent := range hookAgents() {
		f.Add(agent, []byte(`{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"x\n\u001b"}}`))
		f.Add(agent, []byte(`{"type":"permission.asked","properties":{"sessionID":"s","permission":"bash","patterns":["*"]}}`))
		f.Add(agent, []byte(`{"hook_event_name":"Stop","background_tasks":[{"status":"running"},null,7]}`))
	}
	f.Fuzz(func(t *testing.T, agent string, data []byte) {
		h, err := Decode(agent, bytes.NewReader(data), at)
		if err != nil {
			return
		}
		if err := h.Check(); err != nil {
			t.Fatalf("%+v: %v", h, err)
		}
		sent, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		var back Hook
		if err := json.Unmarshal(sent, &back); err != nil || !reflect.DeepEqual(back, h) {
			t.Fatalf("%+v, %v, was %+v", back, err, h)
		}
	})
}

func TestToldByHooks(t *testing.T) {
	for name, want := range map[string]bool{
		"claude": true, "codex": true, "gemini": true, "opencode": true,
		"agy": false, "copilot": false, "cursor": false, "amp": false, "aider": false, Shell: false, "": false,
	} {
		for _, p := range []Profile{{Name: name}, {Name: "mine", Definition: Definition{Like: name}}} {
			if p.RulesOf() == name && p.ToldByHooks() != want {
				t.Errorf("%+v: %v, want %v", p, !want, want)
			}
		}
	}
}
