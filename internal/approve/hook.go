package approve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Bounds of what is taken from a hook.
const (
	// maxArguments is the largest number of bytes of a tool's arguments.
	maxArguments = 384 << 10
	maxHook      = 1 << 20
	maxName      = 200
)

// shape is how an agent's permission hook is answered.
type shape int

const (
	nested shape = iota + 1 // in hookSpecificOutput, as Claude Code and Codex want it
	flat                    // the decision alone, as Copilot CLI wants it
)

// shapes are the agents whose hooks can grant a permission.
var shapes = map[string]shape{"claude": nested, "codex": nested, "copilot": flat}

// CanGrant returns nil if the permission hook of an agent can grant what it asks
// for, else an error that says why not.
func CanGrant(agent string) error {
	switch {
	case shapes[agent] != 0:
		return nil
	case agent == "gemini":
		return errors.New("the hooks of Gemini CLI cannot grant a permission, only refuse one: use its approval mode or a policy file of its own")
	case agent == "opencode":
		return errors.New("OpenCode does not call its permission hook: answer in its own dialog")
	}
	return fmt.Errorf("no hook of %q is known that can grant a permission: use claude, codex or copilot", agent)
}

// ReadHook decodes what an agent gives its permission hook.
func ReadHook(agent string, in io.Reader) (Request, error) {
	r, err := readHook(agent, in)
	if err != nil {
		return Request{}, fmt.Errorf("read the hook's input: %w", err)
	}
	return r, nil
}

func readHook(agent string, in io.Reader) (r Request, err error) {
	raw, err := io.ReadAll(io.LimitReader(in, maxHook+1))
	if err != nil {
		return r, err
	}
	if len(raw) > maxHook {
		return r, fmt.Errorf("it has more than %d bytes", maxHook)
	}
	values, err := object(raw)
	if err != nil {
		return r, err
	}
	a := arguments{values: values, used: map[string]bool{}}
	var args json.RawMessage
	switch shapes[agent] {
	case nested:
		r.Tool, r.Directory, args = a.text("tool_name"), a.text("cwd"), values["tool_input"]
		r.Plans, r.Aside = a.optional("permission_mode") == "plan", a.optional("agent_id") != ""
		if event := a.text("hook_event_name"); event != "PermissionRequest" && a.err == nil {
			return r, fmt.Errorf("the event is %.80q, not PermissionRequest", event)
		}
	case flat:
		r.Tool, r.Directory = a.text("toolName"), a.text("cwd")
		if args = values["toolArgs"]; args == nil {
			args = values["toolInput"]
		}
		if text := ""; json.Unmarshal(args, &text) == nil { // an object, written as a string
			args = json.RawMessage(text)
		}
	default:
		return r, CanGrant(agent)
	}
	if a.err != nil {
		return r, a.err
	}
	r.Arguments = string(args)
	return r, r.Check()
}

// Check returns an error if r is not what ReadHook returns.
func (r Request) Check() error {
	if r.Tool == "" || len(r.Tool) > maxName || !printable(r.Tool) || strings.ContainsAny(r.Tool, "\n\t") {
		return errors.New("the tool's name is not valid")
	}
	if !filepath.IsAbs(r.Directory) {
		return fmt.Errorf("the directory is %.200q, which is not absolute", r.Directory)
	}
	if len(r.Arguments) > maxArguments {
		return fmt.Errorf("the tool's arguments have more than %d bytes", maxArguments)
	}
	if _, err := object([]byte(r.Arguments)); err != nil {
		return fmt.Errorf("the tool's arguments: %w", err)
	}
	return nil
}

// Answer returns what an agent's permission hook prints to allow or deny. reason
// is what a denial tells the agent. Ask has no answer: the hook prints nothing, and
// the agent asks by itself.
func Answer(agent string, d Decision, reason string) ([]byte, error) {
	type decision struct {
		Behavior Decision `json:"behavior"`
		Message  string   `json:"message,omitempty"`
	}
	answer := decision{Behavior: d}
	switch d {
	case Allow:
	case Deny:
		answer.Message = reason
	default:
		return nil, fmt.Errorf("answer an agent's hook: %q is no answer", d)
	}
	switch shapes[agent] {
	case flat:
		return json.Marshal(answer)
	case nested:
		type output struct {
			Event    string   `json:"hookEventName"`
			Decision decision `json:"decision"`
		}
		return json.Marshal(struct {
			Output output `json:"hookSpecificOutput"`
		}{output{"PermissionRequest", answer}})
	}
	return nil, CanGrant(agent)
}
