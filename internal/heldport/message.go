package heldport

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"
)

// The verbs of a request. A server begins with give, at a holder that it has
// started, or with take.
const (
	verbGive = "give" // hold these sockets
	verbTake = "take" // hand the sockets over
	verbKeep = "keep" // stay until then
	verbEnd  = "end"  // give the port up
)

// message is a request, or the answer to one: a line of JSON.
type message struct {
	Verb  string    `json:"verb,omitempty"`
	Port  Port      `json:"port"`
	Until time.Time `json:"until"`
	Error string    `json:"error,omitempty"`
}

const (
	// maxMessage bounds a line.
	maxMessage = 4 << 10
	// maxSockets is how many sockets are held: one for each loopback address.
	maxSockets = 2
)

// parseMessage reads a line that somebody else has written.
func parseMessage(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, err
	}
	if m.Port == (Port{}) {
		return m, nil
	}
	host, port, err := net.SplitHostPort(m.Port.Address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() || port == "" {
		return message{}, fmt.Errorf("%q is no address of this machine alone", m.Port.Address)
	}
	label, ok := strings.CutSuffix(m.Port.Name, ".localhost")
	if !ok || label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return message{}, fmt.Errorf("%q is no name below localhost", m.Port.Name)
	}
	return m, nil
}
