//go:build linux

package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// socket is a WebSocket that may break every rule.
type socket struct {
	conn net.Conn
	r    *bufio.Reader
}

// dial asks for a session's terminal with header lines of its own.
func (s *server) dial(session, query string, headers ...string) (*socket, answer) {
	conn, err := net.DialTimeout("tcp", s.at, patience)
	if err != nil {
		return nil, answer{err: err}
	}
	must(conn.SetDeadline(time.Now().Add(patience)))
	r := request{method: "GET", path: "/api/v1/sessions/" + session + "/terminal?" + query, headers: append(headers, upgradeHeaders...)}
	if _, err := io.WriteString(conn, r.wire(s.addr)); err != nil {
		return nil, answer{err: err}
	}
	in := bufio.NewReader(conn)
	a := readAnswer(in, "GET", nil)
	if a.status != http.StatusSwitchingProtocols {
		conn.Close()
		return nil, a
	}
	return &socket{conn, in}, a
}

// terminal is dial with a login, which must work.
func (s *server) terminal(session, query string) *socket {
	c, a := s.dial(session, query, append(s.auth(), "Origin: http://"+s.addr)...)
	if c == nil {
		must(fmt.Errorf("open the terminal: %s", a))
	}
	return c
}

func (c *socket) close() { c.conn.Close() }

// frame is one frame's bytes: first byte as it is, length, a mask if wanted.
func frame(first byte, masked bool, payload string) []byte {
	b := []byte{first}
	bit := byte(0)
	if masked {
		bit = 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b = append(b, bit|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, bit|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, bit|127), uint64(n))
	}
	if masked {
		b = append(b, 0, 0, 0, 0) // a mask that changes nothing
	}
	return append(b, payload...)
}

const (
	fin    = 0x80
	text   = fin | 1
	binry  = fin | 2
	ping   = fin | 9
	masked = true
)

// next is the next frame's type and payload.
func (c *socket) next() (byte, string, error) {
	var head [2]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, "", err
	}
	n := uint64(head[1] & 0x7f)
	size := make([]byte, 8)
	switch n {
	case 126:
		if _, err := io.ReadFull(c.r, size[6:]); err != nil {
			return 0, "", err
		}
		n = binary.BigEndian.Uint64(size)
	case 127:
		if _, err := io.ReadFull(c.r, size); err != nil {
			return 0, "", err
		}
		n = binary.BigEndian.Uint64(size)
	}
	payload := make([]byte, min(n, 1<<20))
	_, err := io.ReadFull(c.r, payload)
	return head[0] & 0x0f, string(payload), err
}

// closed reads until the server closes; evidence where it does not in time.
func (c *socket) closed(within time.Duration) error {
	must(c.conn.SetDeadline(time.Now().Add(within)))
	for {
		kind, payload, err := c.next()
		if kind == 8 {
			return nil
		}
		if ne, is := err.(net.Error); is && ne.Timeout() {
			return fmt.Errorf("the connection is still open after %s", within)
		}
		if err != nil {
			return nil
		}
		_ = payload
	}
}

// awaits reads until text comes.
func (c *socket) awaits(want string) error {
	var seen strings.Builder
	for !strings.Contains(seen.String(), want) {
		_, payload, err := c.next()
		if err != nil {
			return fmt.Errorf("%q did not come: %w, after %q", want, err, cut(seen.String(), 400))
		}
		seen.WriteString(payload)
	}
	return nil
}

func websocketProbes() []probe {
	probes := []probe{{id: "control", title: "our own page types, and sees it", control: true,
		gain: "nothing: it shows that the refusals below are refusals", run: func(w *world) error {
			s := must1(w.shared())
			_, session := s.newTarget("ws-control", "cat")
			c := s.terminal(session, "mode=attach&cols=80&rows=24")
			defer c.close()
			must1(c.conn.Write(frame(binry, masked, "typed-by-probe\r")))
			return c.awaits("typed-by-probe")
		}}}
	for _, h := range handshakes {
		probes = append(probes, probe{id: "handshake/" + h.name, title: "a WebSocket with " + h.title, gain: "the terminal: reading and typing as the user",
			run: func(w *world) error {
				s := must1(w.shared())
				c, a := s.dial(s.session, h.query, h.headers(s)...)
				if c != nil {
					c.close()
					return fmt.Errorf("the terminal was opened: %s", a)
				}
				return a.refused(h.title)
			}})
	}
	for _, m := range malformed {
		probes = append(probes, probe{id: "frame/" + m.name, title: m.title, gain: m.gain, run: func(w *world) error { return malformedFrame(must1(w.shared()), m) }})
	}
	return append(probes, probe{id: "watch-types", title: "a watcher that types", gain: "typing by somebody who was let in to look",
		run: func(w *world) error { return watcherTypes(must1(w.shared())) }})
}

// handshakes lack a login.
var handshakes = []struct {
	name, title, query string
	headers            func(*server) []string
}{
	{"none", "no credentials", "mode=attach", constantly()},
	{"none-watch", "no credentials, to watch", "mode=watch", constantly()},
	{"our-origin", "our origin and nothing else", "mode=attach", func(s *server) []string { return []string{"Origin: http://" + s.addr, "Sec-Fetch-Site: same-origin"} }},
	{"subprotocol-empty", "an empty subprotocol", "mode=attach", constantly("Sec-WebSocket-Protocol: ")},
	{"subprotocol-guess", "a guessed ticket as subprotocol", "mode=attach", constantly("Sec-WebSocket-Protocol: middleman, AAAAAAAAAAAAAAAAAAAAAAAAAA")},
	{"subprotocol-prefixed", "a guessed ticket with a prefix", "mode=attach", constantly("Sec-WebSocket-Protocol: middleman.v1, ticket.AAAAAAAAAAAAAAAAAAAAAAAAAA")},
	{"subprotocol-many", "a thousand guessed tickets at once", "mode=attach", constantly("Sec-WebSocket-Protocol: middleman" + strings.Repeat(", AAAAAAAAAAAAAAAAAAAAAAAAAA", 1000))},
	{"subprotocol-link", "a login link's token as ticket", "mode=attach", func(s *server) []string {
		return []string{"Sec-WebSocket-Protocol: middleman, " + linkToken(s.newLink())}
	}},
	{"subprotocol-session", "the session's id as ticket", "mode=attach", func(s *server) []string {
		return []string{"Sec-WebSocket-Protocol: middleman, " + s.session}
	}},
	{"query-ticket", "a ticket in the query", "mode=attach&ticket=AAAAAAAAAAAAAAAAAAAAAAAAAA", constantly()},
	{"query-token", "a token in the query", "mode=attach&access_token=x", constantly()},
	{"cookie", "a cookie of our name", "mode=attach", func(s *server) []string { return []string{"Cookie: middleman_" + s.instance() + "=x"} }},
	{"bearer", "a guessed bearer token", "mode=attach", constantly("Authorization: Bearer AAAAAAAAAAAAAAAAAAAAAAAAAA")},
}

// malformedMessage is what a logged-in page, or one with an injected script,
// might send. ends: the protocol demands that the connection is closed.
type malformedMessage struct {
	name, title, gain string
	bytes             func() []byte
	ends              bool
}

func fixed(b []byte) func() []byte { return func() []byte { return b } }

const killGain = "a server that ends, or holds memory, for everybody"

var malformed = []malformedMessage{
	{"unmasked", "a frame without a mask", "requests to a cache on the way, written by a page", fixed(frame(binry, false, "unmasked\r")), true},
	{"reserved-bit", "a frame with a reserved bit", killGain, fixed(frame(binry|0x40, masked, "x")), true},
	{"reserved-type", "a frame of a reserved type", killGain, fixed(frame(fin|3, masked, "x")), true},
	{"reserved-control", "a control frame of a reserved type", killGain, fixed(frame(fin|0xb, masked, "x")), true},
	{"long-ping", "a ping of 200 bytes", killGain, fixed(frame(ping, masked, strings.Repeat("x", 200))), true},
	{"split-ping", "a ping in two fragments", killGain, fixed(frame(9, masked, "x")), true},
	{"lone-continuation", "a continuation of nothing", killGain, fixed(frame(0x80, masked, "x")), true},
	{"nested-start", "a message begun within another", killGain, fixed(append(frame(2, masked, "x"), frame(2, masked, "y")...)), true},
	{"length-63-bits", "a frame that says it has 2^63 bytes", "memory for a length that anybody can say",
		fixed(append([]byte{binry, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "x"...)), true},
	{"length-62-bits", "a frame that says it has 2^62 bytes", "memory for a length that anybody can say",
		fixed(append([]byte{text, 0xff, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "x"...)), false},
	{"not-utf8", "a text message that is no UTF-8", killGain, fixed(frame(text, masked, "\xff\xfe")), false},
	{"not-json", "a text message that is no JSON", killGain, fixed(frame(text, masked, "{")), false},
	{"json-null", "null", killGain, fixed(frame(text, masked, "null")), false},
	{"json-array", "an array", killGain, fixed(frame(text, masked, "[]")), false},
	{"json-deep", "30,000 nested arrays", killGain, func() []byte { return frame(text, masked, strings.Repeat("[", 30000)) }, false},
	{"json-unknown", "a message of an unknown type", killGain, fixed(frame(text, masked, `{"type":"become-root"}`)), false},
	{"text-16-mib", "a text message of 16 MiB", "memory for what anybody can send", func() []byte { return frame(text, masked, `{"type":"`+strings.Repeat("x", 16<<20)+`"}`) }, true},
	{"resize-zero", "a size of 0 x 0", killGain, fixed(frame(text, masked, `{"type":"resize","cols":0,"rows":0}`)), false},
	{"resize-negative", "a negative size", killGain, fixed(frame(text, masked, `{"type":"resize","cols":-1,"rows":-1}`)), false},
	{"resize-huge", "65,535 x 65,535", "memory for a screen of four thousand million cells", fixed(frame(text, masked, `{"type":"resize","cols":65535,"rows":65535}`)), false},
	{"resize-over", "a size over 16 bits", killGain, fixed(frame(text, masked, `{"type":"resize","cols":4294967297,"rows":1e9}`)), false},
	{"resize-text", "a size of words", killGain, fixed(frame(text, masked, `{"type":"resize","cols":"wide","rows":{}}`)), false},
	{"ack-future", "an acknowledgement of what was not sent", "output without end at somebody who does not read", fixed(frame(text, masked, `{"type":"ack","offset":18446744073709551615}`)), false},
	{"ack-negative", "a negative acknowledgement", killGain, fixed(frame(text, masked, `{"type":"ack","offset":-1}`)), false},
	{"close-garbage", "a close of one byte", killGain, fixed(frame(fin|8, masked, "x")), true},
	{"close-reserved", "a close with a reserved code", killGain, fixed(frame(fin|8, masked, "\x03\xed")), true},
	{"garbage", "4 KB of noise", killGain, func() []byte { return []byte(strings.Repeat("\xde\xad\xbe\xef", 1024)) }, true},
	{"http", "an HTTP request where a frame belongs", "a second request around the checks", fixed([]byte("GET /api/v1/workspaces HTTP/1.1\r\nHost: x\r\n\r\n")), true},
}

// malformedFrame: the server and the session outlive it, the connection ends
// where it must, and memory does not grow.
func malformedFrame(s *server, m malformedMessage) error {
	before := s.memory()
	c := s.terminal(s.session, "mode=attach&takeover=1")
	defer c.close()
	_, err := c.conn.Write(m.bytes())
	if m.ends {
		if err := c.closed(30 * time.Second); err != nil {
			return err
		}
	} else if err == nil {
		_, _ = c.conn.Write(frame(ping, masked, "")) // it may have been closed
		must(c.conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond)))
		for err == nil {
			_, _, err = c.next()
		}
	}
	if after := s.memory(); after > before+128<<20 {
		return fmt.Errorf("the server has %d MiB, before %d", after>>20, before>>20)
	}
	return s.alive()
}

func watcherTypes(s *server) error {
	_, session := s.newTarget("ws-watch", "cat")
	c := s.terminal(session, "mode=watch")
	defer c.close()
	must1(c.conn.Write(frame(binry, masked, "typed-by-watcher\r")))
	s.ok("send", session, "--enter", "typed-by-owner") // what was before it has arrived by then
	s.ok("wait", session, "--text", "typed-by-owner", "--timeout", "30s")
	if screen := s.ok("capture", session).stdout; strings.Contains(screen, "typed-by-watcher") {
		return fmt.Errorf("the screen shows: %s", screen)
	}
	return nil
}
