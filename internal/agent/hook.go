package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"middleman/internal/plaintext"
)

// Limits of a hook's report.
const (
	maxHook   = 4 << 20 // bytes of JSON
	maxReason = 200     // characters
)

// Hook is what a hook of an agent says, reduced to what counts.
type Hook struct {
	Agent        string    `json:"agent"`                  // the built-in profile whose protocol this is
	Event        string    `json:"event"`                  // the agent's own name of the event
	At           time.Time `json:"at"`                     // when the hook's process began: this orders reports
	Conversation string    `json:"conversation,omitempty"` // "" if the event does not name it
	State        State     `json:"state,omitempty"`        // "" for an event that says nothing about the state
	Kind         Kind      `json:"kind,omitempty"`
	Reason       string    `json:"reason,omitempty"`  // one line, such as "Bash: rm -r build"
	Unknown      bool      `json:"unknown,omitempty"` // this version does not know the event
	// Turn is the id of the turn that the event belongs to, and Begins is set if it is
	// the first of that. Tool is the id of the call of a tool, or of the request, that
	// the event is about, and Call what that does. All are "" where the agent does not
	// tell them.
	Turn   string `json:"turn,omitempty"`
	Begins bool   `json:"begins,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Call   string `json:"call,omitempty"`
	// Held is set if the hook itself waits for the answer. It is never reported.
	Held bool `json:"-"`
}

// Decode reads the JSON that an agent passes to a hook, up to the end of r. at
// is when the hook's process began. The JSON may have 4 MiB. Decode fails if it
// is no object, or names no event although the agent's hooks do.
func Decode(agent string, r io.Reader, at time.Time) (Hook, error) {
	p, ok := protocols[agent]
	if !ok {
		return Hook{}, fmt.Errorf("read a hook of %q: there are hooks of %s", agent, strings.Join(hookAgents(), ", "))
	}
	data, err := io.ReadAll(io.LimitReader(r, maxHook+1))
	if err != nil {
		return Hook{}, fmt.Errorf("read a hook of %s: %w", agent, err)
	}
	if len(data) > maxHook {
		// An agent whose hook closes its input early may report that as an error.
		_, err := io.Copy(io.Discard, r)
		return Hook{}, errors.Join(fmt.Errorf("read a hook of %s: it has more than %d MiB", agent, maxHook>>20), err)
	}
	var f fields
	if err := json.Unmarshal(data, &f); err != nil || f == nil {
		return Hook{}, fmt.Errorf("read a hook of %s: it is no JSON object", agent)
	}
	h := Hook{Agent: agent, At: at, Event: f.text(p.event...)}
	if h.Event == "" && p.nameless {
		h.Event = "hook"
	}
	if !validEvent().MatchString(h.Event) {
		return Hook{}, fmt.Errorf("read a hook of %s: it has no valid name of an event in %s", agent, strings.Join(p.event, ", "))
	}
	if id := p.conversation(f); validConversation().MatchString(id) {
		h.Conversation = id
	}
	read, known := p.events[h.Event]
	h.Unknown = !known && !p.nameless
	if read != nil {
		h.State, h.Kind, h.Reason = read(f)
	}
	h.Reason = oneLine(h.Reason)
	if h.State != "" {
		p.identify(&h, f)
	}
	return h, nil
}

// hookAgents returns the built-in profiles whose hooks Decode reads, sorted.
func hookAgents() []string { return slices.Sorted(maps.Keys(protocols)) }

// ToldByHooks reports whether there are hooks that tell what the profile's program does.
func (p Profile) ToldByHooks() bool {
	for _, tells := range protocols[p.RulesOf()].events {
		if tells != nil {
			return true
		}
	}
	return false
}

// HookAnswer returns what a hook of the agent must print to decide nothing.
func HookAnswer(agent string) string {
	if agent == "gemini" {
		return "{}\n" // it takes nothing but a JSON object
	}
	return ""
}

// Check returns an error for a report that Decode does not return.
func (h Hook) Check() error {
	switch {
	case protocols[h.Agent].event == nil:
		return fmt.Errorf("agent is %q: there are hooks of %s", h.Agent, strings.Join(hookAgents(), ", "))
	case !validEvent().MatchString(h.Event):
		return fmt.Errorf("event is %q: it must be a name of at most 64 letters, digits, dots, dashes and underscores", plaintext.Line(h.Event))
	case h.Conversation != "" && !validConversation().MatchString(h.Conversation):
		return fmt.Errorf("conversation is %q: that is no id of a conversation", plaintext.Line(h.Conversation))
	case !slices.Contains(kindsOf[h.State], h.Kind):
		return fmt.Errorf("state is %q and kind is %q: these do not go together", plaintext.Line(string(h.State)), plaintext.Line(string(h.Kind)))
	case h.Reason != oneLine(h.Reason):
		return fmt.Errorf("reason: it must be one line of at most %d characters", maxReason)
	case h.Call != oneLine(h.Call):
		return fmt.Errorf("call: it must be one line of at most %d characters", maxReason)
	case h.Turn != "" && !validConversation().MatchString(h.Turn), h.Tool != "" && !validConversation().MatchString(h.Tool):
		return fmt.Errorf("turn is %q and tool is %q: one of them is no id", plaintext.Line(h.Turn), plaintext.Line(h.Tool))
	case h.Unknown && (h.State != "" || h.Reason != ""):
		return errors.New("unknown: an event that is not known has neither state nor reason")
	}
	return nil
}

// kindsOf has the kinds that go with each state that a hook can report.
var kindsOf = map[State][]Kind{
	"":      {""},
	Working: {""},
	Waiting: {Permission, Question, Login, RateLimit},
	Idle:    {"", Background},
	Failed:  {""},
}

var validEvent = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
})

// fields are the members of a JSON object of others. Nothing is known of their
// types.
type fields map[string]json.RawMessage

// text returns the first of the members that is a string and not empty.
func (f fields) text(names ...string) string {
	for _, name := range names {
		var s string
		if json.Unmarshal(f[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// in returns a member that is an object, nil for any other.
func (f fields) in(name string) fields {
	var inner fields
	if json.Unmarshal(f[name], &inner) != nil {
		return nil
	}
	return inner
}

// list returns the objects of a member that is a list of objects, nil for any
// other.
func (f fields) list(name string) []fields {
	var list []fields
	if json.Unmarshal(f[name], &list) != nil {
		return nil
	}
	return list
}

// first returns the first string of a member that is a list of strings, "" for
// any other.
func (f fields) first(name string) string {
	var list []string
	if json.Unmarshal(f[name], &list) != nil || len(list) == 0 {
		return ""
	}
	return list[0]
}

// oneLine returns what fits into a line of s, shown so that a terminal shows it
// safely.
func oneLine(s string) string {
	if most := maxReason * utf8.UTFMax; len(s) > most {
		s = s[:most]
	}
	line := []rune(plaintext.Line(strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")))
	if len(line) > maxReason {
		line = append(line[:maxReason-1], '…')
	}
	return string(line)
}
