package tmux

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"middleman/terminal"
)

// The end marker is a private OSC string that terminals skip:
//
//	ESC ] 7767 ; NONCE ; CODE ; SIGNAL ; SIGNAL-NAME ; UNIX-NANOSECONDS BEL
//
// It travels behind the last byte of output, so that the exit comes in order.
const (
	markerPrefix = "\x1b]7767;"
	markerEnd    = '\a'
	markerMax    = 256 // longer than any marker
)

func endMarker(nonce string, e terminal.Exit) []byte {
	return fmt.Appendf(nil, "%s%s;%d;%d;%s;%d%c", markerPrefix, nonce,
		e.Code, e.Signal, e.SignalName, e.Time.UnixNano(), markerEnd)
}

// markerScanner finds the end marker in a stream that is cut anywhere.
type markerScanner struct {
	start []byte // prefix and nonce
	held  []byte // a tail that may be a marker's beginning
	exit  *terminal.Exit
}

func newMarkerScanner(nonce string) *markerScanner {
	return &markerScanner{start: []byte(markerPrefix + nonce + ";")}
}

// scan returns the output in p; it is valid until the next call. What may be
// the beginning of the marker is held back until more has come. After the
// marker was met, exit is set and nothing is output any more.
func (m *markerScanner) scan(p []byte) []byte {
	if m.exit != nil {
		return nil
	}
	if len(m.held) > 0 {
		p = append(m.held, p...)
		m.held = nil
	}
	from := 0
	for {
		at := bytes.Index(p[from:], m.start)
		if at < 0 {
			n := partialSuffix(p[from:], m.start)
			m.held = bytes.Clone(p[len(p)-n:])
			return p[:len(p)-n]
		}
		at += from
		end := bytes.IndexByte(p[at:], markerEnd)
		switch {
		case end >= 0:
			if exit, ok := parseMarker(p[at+len(m.start) : at+end]); ok {
				m.exit = &exit
				return p[:at]
			}
		case len(p)-at < markerMax:
			m.held = bytes.Clone(p[at:])
			return p[:at]
		}
		from = at + 1
	}
}

// rest returns what is held back, at the end of the stream.
func (m *markerScanner) rest() []byte {
	held := m.held
	m.held = nil
	return held
}

// partialSuffix is the length of the longest end of p that begins start.
func partialSuffix(p, start []byte) int {
	for n := min(len(p), len(start)-1); n > 0; n-- {
		if bytes.HasPrefix(start, p[len(p)-n:]) {
			return n
		}
	}
	return 0
}

func parseMarker(p []byte) (e terminal.Exit, ok bool) {
	f := strings.Split(string(p), ";")
	if len(f) != 4 {
		return e, false
	}
	code, err1 := strconv.Atoi(f[0])
	sig, err2 := strconv.Atoi(f[1])
	nano, err3 := strconv.ParseInt(f[3], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return e, false
	}
	return terminal.Exit{Code: code, Signal: sig, SignalName: f[2], Time: time.Unix(0, nano)}, true
}
