package heldport

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"
)

// The verbs of a request. A server's first request is give, to a holder that it
// has started, or take.
const (
	verbGive = "give" // hold the sockets that come with this
	verbTake = "take" // answer with the sockets
	verbKeep = "keep" // run until the time in this
	verbEnd  = "end"  // release the port and end
)

// message is a request, or the answer to one: one line of JSON.
type message struct {
	Verb  string    `json:"verb,omitempty"`
	Port  Port      `json:"port"`
	Until time.Time `json:"until"`
	Error string    `json:"error,omitempty"`
}

const (
	// maxMessage is the largest length of a line, in bytes.
	maxMessage = 4 << 10
	// maxSockets bounds the held sockets: one for each loopback address.
	maxSockets = 2
)

// parseMessage decodes a line from the other process, and checks the port in it.
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
		return message{}, fmt.Errorf("%q is not a loopback address", m.Port.Address)
	}
	label, ok := strings.CutSuffix(m.Port.Name, ".localhost")
	if !ok || label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return message{}, fmt.Errorf("%q is not a name below localhost", m.Port.Name)
	}
	return m, nil
}
