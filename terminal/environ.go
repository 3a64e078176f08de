package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Environ is an environment, "NAME=value" each. Its JSON form is one base64
// string of the entries, each with a NUL at its end, because a value may hold
// bytes that are no UTF-8. It reads a list of strings too, which is the form of
// earlier builds.
type Environ []string

// MarshalJSON returns the JSON form. An entry that holds NUL is an error.
func (e Environ) MarshalJSON() ([]byte, error) {
	if e == nil {
		return []byte("null"), nil
	}
	var all []byte
	for _, entry := range e {
		if strings.ContainsRune(entry, 0) {
			name, _, _ := strings.Cut(entry, "=")
			return nil, fmt.Errorf("environment variable %q: it contains NUL", name)
		}
		all = append(append(all, entry...), 0)
	}
	return json.Marshal(append([]byte{}, all...)) // never nil, which would be null
}

// UnmarshalJSON reads both forms.
func (e *Environ) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return json.Unmarshal(data, (*[]string)(e))
	}
	var all []byte
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("read environment: %w", err)
	}
	*e = nil
	if all == nil {
		return nil
	}
	if len(all) > 0 && all[len(all)-1] != 0 {
		return errors.New("read environment: its last entry is cut off")
	}
	*e = Environ{}
	for entry := range bytes.SplitSeq(all, []byte{0}) {
		*e = append(*e, string(entry))
	}
	*e = (*e)[:len(*e)-1] // what follows the last NUL
	return nil
}

// Variable is a variable of a session's environment, without its value.
type Variable struct {
	Name string `json:"name"`
	// Source says where the value came from: SourceOwn, or what Spec.Sources had
	// for it; "" if that is not known.
	Source string `json:"source" doc:"Where its value came from: caller, login, allow-list, repository, --env or middleman"`
}

// SourceOwn is the Source of the variables that the backend sets itself.
const SourceOwn = "middleman"

// AgentVariable names the variable with the path of the SSH agent's socket.
const AgentVariable = "SSH_AUTH_SOCK"
