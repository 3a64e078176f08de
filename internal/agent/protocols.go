package agent

import (
	"fmt"
	"slices"
	"strings"
)

// protocol says how to read the JSON of an agent's hooks.
type protocol struct {
	event        []string // the members that name the event, the first that is set counts
	conversation func(fields) string
	// events are the events that are known, each with what it means. nil is for
	// one that says nothing about the state.
	events map[string]meaning
	// nameless is set if the agent's hooks need not say which event they are
	// for. They are known for the conversation alone.
	nameless bool
	// turn and tool name the members with the ids of a turn, and of a call of a tool.
	turn, tool []string
	// begins is the event that is the first of a turn.
	begins string
	// answers is set if an event tells of the answer to each request, by the request's id.
	answers bool
	// in has the members of an event; nil for those of the JSON itself.
	in func(fields) fields
}

// identify sets what the ids of an event are.
func (p protocol) identify(h *Hook, f fields) {
	if p.in != nil {
		f = p.in(f)
	}
	id := func(names []string) string {
		if text := f.text(names...); validConversation().MatchString(text) {
			return text
		}
		return ""
	}
	h.Turn, h.Tool = id(p.turn), id(p.tool)
	h.Begins = h.Turn != "" && h.Event == p.begins
	if len(p.turn) > 0 {
		h.Call = oneLine(toolCall(f.text("tool_name"), f.in("tool_input")))
	}
}

// meaning tells what an event says about the state.
type meaning func(fields) (State, Kind, string)

// protocols are those of the built-in profiles, from the programs' public
// documentation, for the versions that the profiles name.
//
// agy, copilot, cursor and amp report who they are, and no state: their events
// do not tell all that changes it.
var protocols = map[string]protocol{
	"claude": {
		event: []string{"hook_event_name"}, conversation: sessionID, events: claudeEvents,
		turn: []string{"prompt_id"}, begins: "UserPromptSubmit", tool: []string{"tool_use_id"},
	},
	"codex": {
		event: []string{"hook_event_name"}, conversation: sessionID, events: codexEvents,
		turn: []string{"turn_id"}, begins: "UserPromptSubmit", tool: []string{"tool_use_id"},
	},
	"gemini": {event: []string{"hook_event_name"}, conversation: sessionID, events: geminiEvents},
	"opencode": {
		event: []string{"type"}, conversation: opencodeSession, events: opencodeEvents,
		tool: []string{"requestID", "permissionID", "id"}, answers: true, in: opencodeProperties,
	},
	"agy":     {event: []string{"hook_event_name"}, conversation: conversationID, nameless: true},
	"copilot": {event: []string{"hook_event_name", "hookEventName"}, conversation: conversationID, nameless: true},
	"cursor":  {event: []string{"hook_event_name"}, conversation: conversationID, events: cursorEvents},
	"amp":     {event: []string{"event", "type"}, conversation: conversationID, nameless: true},
}

func sessionID(f fields) string { return f.text("session_id") }

func conversationID(f fields) string {
	return f.text("conversation_id", "conversationId", "session_id", "sessionId", "threadID", "threadId")
}

// works is the meaning of what an agent does in a turn. A subagent can go on
// after the turn, so what that does tells nothing about the state.
func works(f fields) (State, Kind, string) {
	if f.text("agent_id") != "" {
		return "", "", ""
	}
	return Working, "", ""
}

func idles(fields) (State, Kind, string) { return Idle, "", "" }

func asksPermission(f fields) (State, Kind, string) {
	return Waiting, Permission, toolCall(f.text("tool_name"), f.in("tool_input"))
}

// compacted is the meaning of the end of a compaction: one that the user asked
// for is a turn of its own.
func compacted(f fields) (State, Kind, string) {
	if f.text("trigger") == "manual" {
		return Idle, "", ""
	}
	return works(f)
}

// toolCall describes a call of a tool by what decides about it.
func toolCall(name string, input fields) string {
	what := input.text("command", "file_path", "filePath", "notebook_path", "path", "dir_path", "url", "pattern", "query", "description", "prompt")
	switch {
	case name == "":
		return what
	case what == "":
		return name
	}
	return name + ": " + what
}

// claudeEvents are those of Claude Code 2.1. Notification comes late, or not at
// all if the user types, so it is no sign of waiting.
var claudeEvents = map[string]meaning{
	"UserPromptSubmit": works, "UserPromptExpansion": works,
	"PreToolUse": claudeTool, "PostToolUse": works, "PostToolUseFailure": works, "PostToolBatch": works,
	"PermissionRequest": asksPermission, "PermissionDenied": works,
	"Elicitation": claudeElicitation, "ElicitationResult": works,
	"PreCompact": works, "PostCompact": compacted,
	"Stop": claudeStop, "StopFailure": stopFailure,

	"SessionStart": nil, "SessionEnd": nil, "Setup": nil, "Notification": nil, "MessageDisplay": nil,
	"SubagentStart": nil, "SubagentStop": nil, "TaskCreated": nil, "TaskCompleted": nil, "TeammateIdle": nil,
	"InstructionsLoaded": nil, "ConfigChange": nil, "CwdChanged": nil, "DirectoryAdded": nil, "FileChanged": nil,
	"WorktreeCreate": nil, "WorktreeRemove": nil,
}

func claudeTool(f fields) (State, Kind, string) {
	switch input := f.in("tool_input"); f.text("tool_name") {
	case "AskUserQuestion":
		for _, q := range input.list("questions") {
			if text := q.text("question", "header"); text != "" {
				return Waiting, Question, text
			}
		}
		return Waiting, Question, "asks a question"
	case "ExitPlanMode":
		return Waiting, Permission, "asks to carry out its plan"
	}
	return works(f)
}

func claudeElicitation(f fields) (State, Kind, string) {
	return Waiting, Question, f.text("message", "mcp_server_name")
}

// claudeStop is the end of a turn, which may leave work behind. That of a subagent's is
// none.
func claudeStop(f fields) (State, Kind, string) {
	if f.text("agent_id") != "" {
		return "", "", ""
	}
	var runs []fields
	for _, task := range f.list("background_tasks") {
		if !slices.Contains([]string{"completed", "failed", "killed", "stopped"}, task.text("status")) {
			runs = append(runs, task)
		}
	}
	if len(runs) == 0 {
		return Idle, "", ""
	}
	reason := runs[0].text("description", "command", "type", "id")
	if more := len(runs) - 1; more > 0 {
		reason = fmt.Sprintf("%d more and %s", more, reason)
	}
	return Idle, Background, "in the background: " + reason
}

// stopFailure is the end of a turn by an error.
func stopFailure(f fields) (State, Kind, string) {
	switch reason := f.text("error"); reason {
	case "rate_limit":
		return Waiting, RateLimit, "the rate limit is reached"
	case "authentication_failed", "oauth_org_not_allowed":
		return Waiting, Login, "asks for a login: " + reason
	case "":
		return Failed, "", "the turn ended by an error"
	default:
		return Failed, "", "the turn ended by an error: " + reason
	}
}

// codexEvents are those of Codex 0.149 to 0.155. Stop is not reported if the
// user interrupts; newer versions report Interrupt then.
var codexEvents = map[string]meaning{
	"UserPromptSubmit": works, "PreToolUse": works, "PostToolUse": works,
	"PermissionRequest": asksPermission,
	"PreCompact":        works, "PostCompact": compacted,
	"Stop": idles, "StopFailure": stopFailure, "Interrupt": idles,
	"SessionStart": nil, "SessionEnd": nil, "SubagentStart": nil, "SubagentStop": nil,
}

// geminiEvents are those of Gemini CLI. None is reported if the user interrupts.
var geminiEvents = map[string]meaning{
	"BeforeAgent": works, "AfterAgent": idles, "BeforeModel": works, "AfterModel": works,
	"BeforeToolSelection": works, "BeforeTool": works, "AfterTool": works, "PreCompress": works,
	"Notification": geminiNotification,
	"SessionStart": nil, "SessionEnd": nil,
}

// geminiNotification is reported when the dialog of a tool opens.
func geminiNotification(f fields) (State, Kind, string) {
	if f.text("notification_type") != "ToolPermission" {
		return "", "", ""
	}
	details := f.in("details")
	if reason := toolCall(details.text("title", "type"), details); reason != "" {
		return Waiting, Permission, reason
	}
	return Waiting, Permission, f.text("message")
}

// cursorEvents are those of Cursor CLI. One runs before each command, whether or
// not the user is asked, so none is a sign of waiting.
var cursorEvents = map[string]meaning{
	"sessionStart": nil, "sessionEnd": nil, "beforeSubmitPrompt": nil, "preToolUse": nil, "postToolUse": nil,
	"postToolUseFailure": nil, "beforeShellExecution": nil, "afterShellExecution": nil, "beforeMCPExecution": nil,
	"afterMCPExecution": nil, "beforeReadFile": nil, "afterFileEdit": nil, "afterAgentResponse": nil,
	"afterAgentThought": nil, "subagentStart": nil, "subagentStop": nil, "preCompact": nil, "stop": nil,
}

// opencodeFailed is the event of a turn that has failed. The events of idleness follow it.
const opencodeFailed = "session.error"

// opencodeEvents are those of OpenCode 2, as our plugin passes them on. It leaves
// out those of subagents' sessions, except for questions to the user.
var opencodeEvents = map[string]meaning{
	"session.status": opencodeStatus, "session.idle": idles, opencodeFailed: opencodeError,
	"permission.asked": opencodePermission, "permission.v2.asked": opencodePermission,
	"permission.replied": works, "permission.v2.replied": works,
	"question.asked": opencodeQuestion, "question.v2.asked": opencodeQuestion,
	"question.replied": works, "question.rejected": works, "question.v2.replied": works, "question.v2.rejected": works,
	"session.created": nil, "session.updated": nil, "session.deleted": nil, "session.compacted": nil,
}

// opencodeProperties are the members of an event: of data in version 2, of
// properties before.
func opencodeProperties(f fields) fields {
	if data := f.in("data"); data != nil {
		return data
	}
	return f.in("properties")
}

// opencodeSession is the session of an event. Subagents, which have sessions of their own,
// ask as well: what is asked tells no session.
func opencodeSession(f fields) string {
	if kind, _, _ := strings.Cut(f.text("type"), "."); kind != "session" {
		return ""
	}
	p := opencodeProperties(f)
	if id := p.text("sessionID"); id != "" {
		return id
	}
	return p.in("info").text("id")
}

func opencodeStatus(f fields) (State, Kind, string) {
	switch status := opencodeProperties(f).in("status"); status.text("type") {
	case "busy":
		return Working, "", ""
	case "idle":
		return Idle, "", ""
	case "retry":
		return Waiting, RateLimit, "tries again: " + status.text("message")
	}
	return "", "", ""
}

// opencodeError is the end of a turn by an error, or by the user.
func opencodeError(f fields) (State, Kind, string) {
	e := opencodeProperties(f).in("error")
	reason := e.text("name")
	if message := e.in("data").text("message"); message != "" {
		reason += ": " + message
	}
	switch e.text("name") {
	case "MessageAbortedError":
		return Idle, "", ""
	case "ProviderAuthError":
		return Waiting, Login, reason
	}
	return Failed, "", "the turn ended by an error: " + reason
}

func opencodePermission(f fields) (State, Kind, string) {
	p := opencodeProperties(f)
	name := p.text("permission", "action", "title", "type")
	if reason := toolCall(name, p.in("metadata")); reason != name {
		return Waiting, Permission, reason
	}
	for _, key := range []string{"patterns", "resources"} {
		if what := p.first(key); what != "" {
			return Waiting, Permission, name + ": " + what
		}
	}
	return Waiting, Permission, name
}

func opencodeQuestion(f fields) (State, Kind, string) {
	for _, q := range opencodeProperties(f).list("questions") {
		if text := q.text("question", "header"); text != "" {
			return Waiting, Question, text
		}
	}
	return Waiting, Question, "asks a question"
}
