package agent

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"middleman/internal/keydoc"
)

//go:embed opencode.js
var opencodePlugin string

// Injection is how hooks reach a program for one launch: by arguments, or by
// files in a directory of the launch that a variable leads to. No file of the
// user's is written.
type Injection struct {
	// Args are more arguments, for Launch and Again.
	Args []string
	// Files are what the directory of the launch must hold, by local path.
	// Variable leads the program to it: to the file Path in it or, if Path is "",
	// to itself. Variable is "" if no files are needed.
	Files          map[string][]byte
	Variable, Path string
	// Hidden is a file that the program would no longer read if Variable was set,
	// "" for none. If it exists, or Variable is set already, the user's setting
	// stays, and nothing is injected.
	Hidden string
	// Hooks says that hooks go in, and About how, or why not.
	Hooks bool
	About string
}

// times of a hook, in seconds. Codex lets some hooks run for 3 at most, and
// hashes what it makes of the time.
const (
	reportTime  = 3
	approveTime = 3600 // a person may answer
)

// injections tell for the programs of built-in profiles how hooks reach them.
// report is the command that reports, approve the one that answers a request
// for a permission. Events that report neither a conversation nor a
// change of the state are left out: a hook costs a process.
var injections = map[string]func(report, approve []string) Injection{
	"claude":   claudeInjection,
	"codex":    codexInjection,
	"gemini":   geminiInjection,
	"opencode": opencodeInjection,
}

// withoutHooks says why no hooks reach a program.
var withoutHooks = map[string]string{
	"agy":     "it reads them from the user's own files alone",
	"copilot": "it reads them from the user's own files and the repository's alone",
	"cursor":  "it reads them from the user's own files and the repository's alone",
	"amp":     "it reads plugins from the user's own files alone",
	"aider":   "it has none that report the whole of a turn",
}

// Inject returns how hooks reach the profile's program. executable is the
// absolute path of middleman.
func (p Profile) Inject(executable string) Injection {
	program := p.RulesOf()
	inject, known := injections[program]
	switch {
	case withoutHooks[program] != "":
		return Injection{About: "none: " + withoutHooks[program]}
	case !known:
		return Injection{About: "none"}
	case !hooksRun:
		return Injection{About: "none on this system"}
	case p.setsHooks():
		return Injection{About: "none: they would replace what the profile's own arguments set"}
	}
	report := []string{executable, "report", "--agent", program}
	approve := report
	if p.Approvals {
		approve = []string{executable, "approve", "--agent", program}
	}
	return inject(report, approve)
}

// setsHooks reports whether the profile's own arguments set what those of an
// Injection would replace.
func (p Profile) setsHooks() bool {
	return slices.ContainsFunc(slices.Concat(p.Command, p.Resume), func(arg string) bool {
		return arg == "--settings" || strings.HasPrefix(arg, "--settings=") || ownHooks().MatchString(arg)
	})
}

var ownHooks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(-c=?|--config=)?(hooks[.=]|features\.hooks)`)
})

// canApprove reports whether the program asks a hook for permissions that
// reaches it by an Injection.
func (p Profile) canApprove() bool { return p.RulesOf() == "claude" || p.RulesOf() == "codex" }

// reportLine returns the line of a shell that reports. It never fails: agents
// take some failures of a hook for an order to stop. Which shell the line is for
// is the agent's choice, or its user's.
func reportLine(argv []string) string {
	return shellLine(append([]string{"/bin/sh", "-c", `"$0" "$@" || true`}, argv...))
}

// approveLine returns the line of a shell that answers a request. The shell becomes
// the hook, so an agent that ends its hook ends that.
func approveLine(argv []string) string { return "exec " + shellLine(argv) }

// shellLine returns a command as a line for a shell.
func shellLine(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = arg
		if !plainWord().MatchString(arg) {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`) })

// hook is an entry of Claude Code's settings, and, with the time in another
// unit, of Gemini CLI's.
type hook struct {
	Name    string `json:"name,omitempty"`
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
	Async   bool   `json:"async,omitempty"`
}

// hookGroup holds the hooks of an event, for the tools that Matcher names.
type hookGroup struct {
	Matcher string `json:"matcher,omitempty"`
	Hooks   []hook `json:"hooks"`
}

// hookSettings returns settings with hooks, as JSON.
func hookSettings(events map[string][]hookGroup) []byte {
	data, err := json.Marshal(map[string]any{"hooks": events})
	if err != nil {
		panic(err) // strings and numbers
	}
	return data
}

// claudeInjection passes settings by --settings, which are merged with the
// user's. Hooks that begin, end or interrupt a turn are waited for, so that they
// report in order. Those within a turn are not, and do not slow tools down.
func claudeInjection(report, approve []string) Injection {
	tell := hook{Type: "command", Command: reportLine(report), Timeout: reportTime}
	later, answer := tell, tell
	later.Async = true
	if !slices.Equal(approve, report) {
		answer = hook{Type: "command", Command: approveLine(approve), Timeout: approveTime}
	}
	events := map[string][]hookGroup{}
	for _, event := range []string{"UserPromptSubmit", "Elicitation", "PreCompact", "PostCompact", "Stop", "StopFailure"} {
		events[event] = []hookGroup{{Hooks: []hook{tell}}}
	}
	for _, event := range []string{"SessionStart", "PostToolUse", "PostToolUseFailure", "PermissionDenied", "ElicitationResult"} {
		events[event] = []hookGroup{{Hooks: []hook{later}}}
	}
	events["PreToolUse"] = []hookGroup{{Matcher: "AskUserQuestion|ExitPlanMode", Hooks: []hook{tell}}}
	events["PermissionRequest"] = []hookGroup{{Hooks: []hook{answer}}}
	return Injection{
		Args:  []string{"--settings", string(hookSettings(events))},
		Hooks: true, About: "added by --settings, for one launch",
	}
}

// codexHooks are events of Codex, and their names in the keys of trust.
var codexHooks = []struct{ event, label string }{
	{"SessionStart", "session_start"}, {"UserPromptSubmit", "user_prompt_submit"},
	{"PermissionRequest", "permission_request"}, {"PostToolUse", "post_tool_use"},
	{"Stop", "stop"}, {"Interrupt", "interrupt"},
}

// codexInjection passes hooks by -c, which are added to the user's, and the
// trust in each: Codex asks the user about a hook that is not trusted, or skips
// it.
func codexInjection(report, approve []string) Injection {
	var args, trust []string
	for _, h := range codexHooks {
		command, timeout := reportLine(report), reportTime
		if h.event == "PermissionRequest" && !slices.Equal(approve, report) {
			command, timeout = approveLine(approve), approveTime
		}
		args = append(args, "-c", fmt.Sprintf(`hooks.%s=[{hooks=[{type="command",command=%s,timeout=%d}]}]`, h.event, keydoc.TOML(command), timeout))
		trust = append(trust, fmt.Sprintf(`"/<session-flags>/config.toml:%s:0:0"={trusted_hash="%s"}`, h.label, codexHash(h.label, command, timeout)))
	}
	return Injection{
		Args:  append(args, "-c", "hooks.state={"+strings.Join(trust, ",")+"}"),
		Hooks: true, About: "added by -c, with the trust in them, for one launch",
	}
}

// codexHash returns what Codex compares with trusted_hash: the SHA-256 of a
// hook's compact JSON with sorted keys. label is the event's name there, and
// timeout the seconds that Codex lets the hook run.
func codexHash(label, command string, timeout int) string {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(struct { // in the order of the keys
		Event string           `json:"event_name"`
		Hooks []map[string]any `json:"hooks"`
	}{label, []map[string]any{{"type": "command", "command": command, "timeout": timeout, "async": false}}})
	if err != nil {
		panic(err) // strings, numbers and a truth value
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(bytes.TrimSuffix(text.Bytes(), []byte("\n"))))
}

// geminiInjection passes settings of the system. Gemini CLI counts the time of a
// hook in milliseconds.
func geminiInjection(report, _ []string) Injection {
	events := map[string][]hookGroup{}
	for _, event := range []string{"SessionStart", "BeforeAgent", "AfterAgent", "AfterTool", "Notification"} {
		events[event] = []hookGroup{{Hooks: []hook{{Name: "middleman", Type: "command", Command: reportLine(report), Timeout: reportTime * 1000}}}}
	}
	return Injection{
		Files:    map[string][]byte{"settings.json": hookSettings(events)},
		Variable: "GEMINI_CLI_SYSTEM_SETTINGS_PATH", Path: "settings.json", Hidden: geminiSettings,
		Hooks: true, About: "in settings of one launch, unless there is " + geminiSettings + ", which these would hide",
	}
}

// opencodeInjection passes a plugin in one more directory of configuration.
func opencodeInjection(report, _ []string) Injection {
	argv, err := json.Marshal(report)
	if err != nil {
		panic(err) // strings
	}
	return Injection{
		Files:    map[string][]byte{"plugins/middleman.js": []byte(strings.Replace(opencodePlugin, "REPORT", string(argv), 1))},
		Variable: "OPENCODE_CONFIG_DIR",
		Hooks:    true, About: "a plugin of one launch, unless OPENCODE_CONFIG_DIR is set",
	}
}
