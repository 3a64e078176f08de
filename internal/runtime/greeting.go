package runtime

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// greeting is the line that `middleman connect` writes first. What follows on both
// streams is yamux, where the hub opens a stream for each connection to the server.
type greeting struct {
	Middleman string `json:"middleman"` // always "connect"
	Version   string `json:"version"`
	// Schema and Oldest are the newest and the oldest form of this conversation
	// that the program speaks.
	Schema   int      `json:"schema"`
	Oldest   int      `json:"oldest"`
	Features []string `json:"features"`
}

const (
	// schema is the form of the conversation that this build speaks, and the only
	// one that there is.
	schema    = 1
	multiplex = "yamux"
	// maxGreeting bounds the line, maxNoise what a login shell prints before it.
	maxGreeting = 4 << 10
	maxNoise    = 64 << 10
)

var greetingStart = []byte(`{"middleman":`)

func newGreeting(version string) []byte {
	line, err := json.Marshal(greeting{Middleman: "connect", Version: version, Schema: schema, Oldest: schema, Features: []string{multiplex}})
	if err != nil {
		panic(err) // it holds strings and numbers
	}
	return append(line, '\n')
}

// readGreeting reads lines until the greeting, which it checks.
func readGreeting(r *bufio.Reader) error {
	for noise := 0; ; {
		line, err := r.ReadSlice('\n')
		begins := bytes.HasPrefix(line, greetingStart)
		switch {
		case begins && err == nil && len(line) <= maxGreeting:
			return checkGreeting(line)
		case begins:
			return &Error{Reason: BadProtocol, Cause: fmt.Errorf("the greeting has more than %d bytes, or ends early: %w", maxGreeting, err)}
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return &Error{Reason: NoAnswer, Cause: errors.New("the connection ended before the greeting")}
		case err != nil:
			return because(err, NoAnswer)
		}
		if noise += len(line); noise > maxNoise {
			return &Error{Reason: BadProtocol, Cause: fmt.Errorf("no greeting in the first %d bytes", maxNoise)}
		}
	}
}

// checkGreeting accepts the greeting of a program that speaks our schema. Fields
// and features that this build does not know are those of a newer one.
func checkGreeting(line []byte) error {
	var g greeting
	if err := json.Unmarshal(line, &g); err != nil || g.Middleman != "connect" {
		return &Error{Reason: BadProtocol, Cause: fmt.Errorf("the greeting is %.200q", line)}
	}
	reason := skew(g.Oldest, g.Schema, schema, schema)
	if reason == "" && !slices.Contains(g.Features, multiplex) {
		reason = Older
	}
	if reason != "" {
		return &Error{Reason: reason, Cause: fmt.Errorf("the greeting is %.200q", line)}
	}
	return nil
}
