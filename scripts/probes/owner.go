//go:build linux

package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Frame types of the owners' protocol.
const (
	helloFrame   = 1
	welcomeFrame = 2
	inputFrame   = 3
	resizeFrame  = 6
	ackFrame     = 8
	requestFrame = 9
	errorFrame   = 13
)

// ownerConn is a connection to an owner.
type ownerConn struct {
	conn net.Conn
	r    *bufio.Reader
}

func dialOwner(o owner) *ownerConn {
	conn := must1(net.Dial("unix", o.Socket))
	must(conn.SetDeadline(time.Now().Add(patience)))
	return &ownerConn{conn, bufio.NewReader(conn)}
}

func (c *ownerConn) close() { c.conn.Close() }

// send writes what the owner may refuse to read.
func (c *ownerConn) send(bytes string) { _, _ = io.WriteString(c.conn, bytes) }

func (c *ownerConn) next() (kind byte, payload string, err error) {
	var head [5]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, "", err
	}
	raw := make([]byte, min(binary.BigEndian.Uint32(head[:]), 1<<20))
	_, err = io.ReadFull(c.r, raw)
	return head[4], string(raw), err
}

// helloOf is a Hello with more fields than the token and the mode.
func helloOf(token, mode, more string) string {
	return ownerFrame(helloFrame, fmt.Sprintf(`{"min":1,"max":1,"token":%q,"mode":%q%s}`, token, mode, more))
}

// joins opens a connection that must be welcomed.
func joins(o owner, mode, more string) *ownerConn {
	c := dialOwner(o)
	c.send(helloOf(o.Token, mode, more))
	if kind, payload, err := c.next(); err != nil || kind != welcomeFrame {
		c.close()
		must(fmt.Errorf("the owner answered with frame %d %q: %w", kind, cut(payload, 200), err))
	}
	return c
}

func ownerProbes() []probe {
	probes := []probe{{id: "control", title: "the right token is welcomed, types, and sees it", control: true,
		gain: "nothing: it shows that silence below is a refusal", run: ownerControl}}
	for _, x := range strangers {
		probes = append(probes, probe{id: "stranger/" + x.name, title: x.title, gain: "reading and typing at a session, past the token", run: func(w *world) error {
			s := must1(w.shared())
			return stranger(s.owner(s.session), x.bytes(s.owner(s.session).Token))
		}})
	}
	for _, x := range rude {
		probes = append(probes, probe{id: "rude/" + x.name, title: x.title, gain: "a session that ends, by somebody who may only look", run: func(w *world) error { return rudeness(must1(w.shared()), x.mode, x.bytes()) }})
	}
	return append(probes,
		probe{id: "truncated", title: "a Hello cut at each of its bytes", gain: "an owner that waits or ends on half a frame", run: truncatedHello},
		probe{id: "slow-hello", title: "a Hello, one byte a second", gain: "all places for connections, for ever", run: slowHello, slow: true},
		probe{id: "silent", title: "200 silent connections keep nobody out", gain: "the user locked out of the session", run: silentCrowd},
		probe{id: "second-writer", title: "a second writer without takeover", gain: "two who type at once, one of them unseen", run: secondWriter},
		probe{id: "watcher-types", title: "a watcher that types and resizes", gain: "typing by somebody who was let in to look", run: ownerWatcher},
		probe{id: "watchers", title: "more watchers than there may be", gain: "memory and descriptors of the owner", run: manyWatchers},
		probe{id: "deaf", title: "six inputs of 16 MiB to a program that reads none", gain: "the machine's memory, by a program that does not read", run: deafProgram, slow: true})
}

func ownerControl(w *world) error {
	s := must1(w.shared())
	_, session := s.newTarget("owner-control", "cat")
	c := joins(s.owner(session), "attach", `,"size":{"cols":80,"rows":24}`)
	defer c.close()
	c.send(ownerFrame(inputFrame, "typed-by-owner-probe\r"))
	for seen := ""; !strings.Contains(seen, "typed-by-owner-probe"); {
		_, payload, err := c.next()
		if err != nil {
			return err
		}
		seen += payload
	}
	return nil
}

func withToken(change func(string) string) func(string) string {
	return func(token string) string { return helloOf(change(token), "attach", `,"takeover":true`) }
}

func plainly(s string) func(string) string { return func(string) string { return s } }

// strangers lack the token; none may be told anything.
var strangers = []struct {
	name, title string
	bytes       func(token string) string
}{
	{"wrong", "a wrong token", withToken(func(string) string { return "AAAAAAAAAAAAAAAAAAAAAAAAAA" })},
	{"empty", "an empty token", withToken(func(string) string { return "" })},
	{"prefix", "a token without its last letter", withToken(func(t string) string { return t[:len(t)-1] })},
	{"longer", "a token with one letter more", withToken(func(t string) string { return t + "A" })},
	{"first-letter", "the first letter of the token", withToken(func(t string) string { return t[:1] })},
	{"lower-case", "the token in small letters", withToken(func(t string) string { return swapCase(t) })},
	{"space", "the token after a space", withToken(func(t string) string { return " " + t })},
	{"nul", "the token and a NUL", func(t string) string {
		return ownerFrame(helloFrame, `{"min":1,"max":1,"mode":"attach","token":"`+t+`\u0000"}`)
	}},
	{"missing", "no token", plainly(ownerFrame(helloFrame, `{"min":1,"max":1,"mode":"attach"}`))},
	{"null", "the token null", plainly(ownerFrame(helloFrame, `{"min":1,"max":1,"mode":"attach","token":null}`))},
	{"array", "the token in an array", func(t string) string {
		return ownerFrame(helloFrame, `{"min":1,"max":1,"mode":"attach","token":["`+t+`"]}`)
	}},
	{"true", "the token true", plainly(ownerFrame(helloFrame, `{"min":1,"max":1,"mode":"attach","token":true}`))},
	{"twice", "the right token, then a wrong one", func(t string) string {
		return ownerFrame(helloFrame, `{"min":1,"max":1,"mode":"attach","token":"`+t+`","token":"x"}`)
	}},
	{"no-json", "a Hello that is no JSON", plainly(ownerFrame(helloFrame, "{"))},
	{"json-array", "a Hello that is an array", plainly(ownerFrame(helloFrame, "[]"))},
	{"json-null", "a Hello that is null", plainly(ownerFrame(helloFrame, "null"))},
	{"no-bytes", "a Hello of no bytes", plainly(ownerFrame(helloFrame, ""))},
	{"large", "a Hello over 4 KiB with the right token", func(t string) string { return helloOf(t, "attach", `,"client":"`+strings.Repeat("x", 5000)+`"`) }},
	{"four-gib", "a Hello that says it has 4 GiB", plainly("\xff\xff\xff\xff\x01{")},
	{"input-first", "input before a Hello", plainly(ownerFrame(inputFrame, "id\r"))},
	{"request-first", "a request before a Hello", plainly(ownerFrame(requestFrame, `{"id":1,"verb":"stop"}`))},
	{"resize-first", "a size before a Hello", plainly(ownerFrame(resizeFrame, `{"cols":1,"rows":1}`))},
	{"welcome-first", "a Welcome as if we were the owner", plainly(ownerFrame(welcomeFrame, `{}`))},
	{"type-0", "a frame of type 0", plainly(ownerFrame(0, "x"))},
	{"type-255", "a frame of type 255", plainly(ownerFrame(255, "x"))},
	{"unknown-then-input", "a frame of an unknown type, then input", plainly(ownerFrame(200, "x") + ownerFrame(inputFrame, "id\r"))},
	{"wrong-then-input", "a wrong token with input right behind it", plainly(helloOf("x", "attach", "") + ownerFrame(inputFrame, "id\r") + ownerFrame(requestFrame, `{"id":1,"verb":"stop"}`))},
	{"http", "an HTTP request", plainly("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")},
	{"tls", "a TLS ClientHello", plainly("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 512))},
}

func swapCase(s string) string {
	if l := strings.ToLower(s); l != s {
		return l
	}
	return strings.ToUpper(s)
}

// stranger: not a byte is answered, and the connection is closed.
func stranger(o owner, bytes string) error {
	c := dialOwner(o)
	defer c.close()
	c.send(bytes)
	kind, payload, err := c.next()
	if err == nil {
		return fmt.Errorf("it was answered with frame %d %q", kind, cut(payload, 300))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("the connection stays open")
	}
	return nil
}

// rude clients are let in, and break the rules.
var rude = []struct {
	name, title, mode string
	bytes             func() string
}{
	{"long-frame", "a frame that says it has 4 GiB", "attach", func() string { return "\xff\xff\xff\xff\x03x" }},
	{"frame-over", "a frame one byte over the limit", "attach", func() string { return ownerFrame(200, strings.Repeat("x", 64<<10+1)) }},
	{"size-zero", "a size of 0 x 0", "attach", func() string { return ownerFrame(resizeFrame, `{"cols":0,"rows":0}`) }},
	{"size-huge", "65,535 x 65,535", "attach", func() string { return ownerFrame(resizeFrame, `{"cols":65535,"rows":65535}`) }},
	{"size-over", "a size over 16 bits", "attach", func() string { return ownerFrame(resizeFrame, `{"cols":70000,"rows":-3}`) }},
	{"size-no-json", "a size that is no JSON", "attach", func() string { return ownerFrame(resizeFrame, "\x00\x00") }},
	{"ack-short", "an acknowledgement of 3 bytes", "attach", func() string { return ownerFrame(ackFrame, "abc") }},
	{"ack-future", "an acknowledgement of what was not sent", "attach", func() string { return ownerFrame(ackFrame, strings.Repeat("\xff", 8)) }},
	{"second-hello", "a second Hello", "watch", func() string { return helloOf("x", "attach", "") }},
	{"exit", "an Exit, as if we were the owner", "watch", func() string { return ownerFrame(11, `{"code":0}`) }},
	{"output", "output, as if we were the owner", "watch", func() string { return ownerFrame(4, strings.Repeat("\x00", 8)+"forged") }},
	{"request-no-json", "a request that is no JSON", "control", func() string { return ownerFrame(requestFrame, "{") }},
	{"request-deep", "a request of 30,000 nested arrays", "control", func() string { return ownerFrame(requestFrame, strings.Repeat("[", 30000)) }},
	{"request-unknown", "an unknown verb", "control", func() string { return ownerFrame(requestFrame, `{"id":1,"verb":"become-root"}`) }},
	{"request-id", "a request with an id past 64 bits", "control", func() string { return ownerFrame(requestFrame, `{"id":99999999999999999999,"verb":"status"}`) }},
	{"capture-format", "a capture in a format that there is not", "control", func() string {
		return ownerFrame(requestFrame, `{"id":1,"verb":"capture","args":{"format":"../../etc/passwd"}}`)
	}},
	{"input-not-base64", "input that is not what it says", "control", func() string { return ownerFrame(requestFrame, `{"id":1,"verb":"input","args":{"data":"!!!"}}`) }},
	{"upgrade-relative", "an upgrade to a relative path", "control", func() string {
		return ownerFrame(requestFrame, `{"id":1,"verb":"upgrade","args":{"executable":"bin/sh"}}`)
	}},
	{"upgrade-directory", "an upgrade to a directory", "control", func() string {
		return ownerFrame(requestFrame, `{"id":1,"verb":"upgrade","args":{"executable":"/tmp"}}`)
	}},
	{"upgrade-other", "an upgrade to a program that is no middleman", "control", func() string {
		return ownerFrame(requestFrame, `{"id":1,"verb":"upgrade","args":{"executable":"/bin/false"}}`)
	}},
	{"upgrade-device", "an upgrade to a device", "control", func() string {
		return ownerFrame(requestFrame, `{"id":1,"verb":"upgrade","args":{"executable":"/dev/zero"}}`)
	}},
}

// rudeness: the owner and the program go on.
func rudeness(s *server, mode, bytes string) error {
	o := s.owner(s.session)
	c := joins(o, mode, `,"takeover":true`)
	defer c.close()
	c.send(bytes)
	must(c.conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond)))
	for {
		if _, _, err := c.next(); err != nil {
			break
		}
	}
	now := joins(o, "control", "")
	now.close()
	if mb := processMemory(o.OwnerPID) >> 20; mb > 128 {
		return fmt.Errorf("the owner has %d MiB", mb)
	}
	if a := s.local("GET", "/api/v1/sessions/"+s.session+"/output", ""); strings.Contains(a.body, "forged") {
		return fmt.Errorf("forged output was kept: %s", a)
	}
	return s.alive()
}

func truncatedHello(w *world) error {
	s := must1(w.shared())
	o := s.owner(s.session)
	whole := helloOf(o.Token, "control", "")
	for n := range len(whole) {
		c := dialOwner(o)
		c.send(whole[:n])
		must(c.conn.(*net.UnixConn).CloseWrite())
		kind, payload, err := c.next()
		c.close()
		if err == nil {
			return fmt.Errorf("the first %d of %d bytes were answered with frame %d %q", n, len(whole), kind, cut(payload, 200))
		}
	}
	joins(o, "control", "").close()
	return nil
}

func slowHello(w *world) error {
	s := must1(w.shared())
	o := s.owner(s.session)
	c := dialOwner(o)
	defer c.close()
	for i := range 30 {
		c.send(helloOf(o.Token, "control", "")[i : i+1])
		must(c.conn.SetReadDeadline(time.Now().Add(time.Second)))
		if _, err := c.r.Peek(1); !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
	}
	return errors.New("after 30 seconds the connection is still open")
}

func silentCrowd(w *world) error {
	s := must1(w.shared())
	o := s.owner(s.session)
	for range 200 {
		c := dialOwner(o)
		defer c.close()
	}
	joins(o, "control", "").close()
	return nil
}

func secondWriter(w *world) error {
	s := must1(w.shared())
	_, session := s.newTarget("two-writers", "cat")
	o := s.owner(session)
	first := joins(o, "attach", "")
	defer first.close()
	second := dialOwner(o)
	defer second.close()
	second.send(helloOf(o.Token, "attach", "") + ownerFrame(inputFrame, "typed-by-second\r"))
	if kind, payload, err := second.next(); err != nil || kind != errorFrame || !strings.Contains(payload, "busy") {
		return fmt.Errorf("the second writer was answered with frame %d %q %v", kind, payload, err)
	}
	return s.neverTyped(session, "typed-by-second")
}

// neverTyped: what was typed after it shows, it does not.
func (s *server) neverTyped(session, text string) error {
	s.ok("send", session, "--enter", "typed-by-the-user")
	s.ok("wait", session, "--text", "typed-by-the-user", "--timeout", "30s")
	if o := s.ok("capture", session); strings.Contains(o.stdout, text) {
		return fmt.Errorf("the screen shows %q: %s", text, o)
	}
	return nil
}

func ownerWatcher(w *world) error {
	s := must1(w.shared())
	_, session := s.newTarget("owner-watch", "cat")
	o := s.owner(session)
	c := joins(o, "watch", "")
	defer c.close()
	c.send(ownerFrame(resizeFrame, `{"cols":11,"rows":11}`) + ownerFrame(inputFrame, "typed-by-watcher\r"))
	if err := s.neverTyped(session, "typed-by-watcher"); err != nil {
		return err
	}
	if a := s.local("GET", "/api/v1/sessions/"+session, ""); strings.Contains(a.body, `"cols":11`) {
		return fmt.Errorf("the watcher has resized it: %s", a)
	}
	return nil
}

func manyWatchers(w *world) error {
	s := must1(w.shared())
	o := s.owner(s.session)
	for n := range 200 {
		c := dialOwner(o)
		defer c.close()
		c.send(helloOf(o.Token, "watch", ""))
		if kind, _, err := c.next(); err != nil || kind == errorFrame {
			if n < 8 {
				return fmt.Errorf("watcher %d was refused", n)
			}
			return nil
		}
	}
	return errors.New("200 watchers were let in")
}

// deafProgram: neither the server nor the owner keeps what is not read.
func deafProgram(w *world) error {
	s := w.fresh(serverOptions{})
	defer s.stop()
	_, session := s.newTarget("deaf", "sleep", "1000")
	pid := s.owner(session).OwnerPID
	before := s.memory() + processMemory(pid)
	typing := request{method: "POST", path: "/api/v1/sessions/" + session + "/input", host: "localhost", body: strings.Repeat("x", 16<<20)}.wire("")
	var all sync.WaitGroup
	for range 6 {
		conn := must1(net.Dial("unix", s.socket()))
		must(conn.SetDeadline(time.Now().Add(8 * time.Second)))
		all.Go(func() {
			defer conn.Close()
			_, _ = io.WriteString(conn, typing) // it may be refused
			_, _ = io.Copy(io.Discard, conn)    // until the time is over
		})
	}
	most := 0
	for range 40 {
		time.Sleep(200 * time.Millisecond)
		most = max(most, s.memory()+processMemory(pid))
	}
	all.Wait()
	if most > before+128<<20 {
		return fmt.Errorf("server and owner have %d MiB together, before %d", most>>20, before>>20)
	}
	return nil
}

// candidate is an executable that an owner is asked to become. make puts one at
// or behind path.
type candidate struct {
	name, title string
	make        func(w *world, path string) string
}

var candidates = []candidate{
	{"group-writable", "an executable that its group may write", func(w *world, path string) string { return w.copyWithMode(path, 0o775) }},
	{"world-writable", "an executable that everybody may write", func(w *world, path string) string { return w.copyWithMode(path, 0o757) }},
	{"not-executable", "a file that is not executable", func(w *world, path string) string { return w.copyWithMode(path, 0o644) }},
	{"foreign", "an executable of another user's", func(w *world, path string) string {
		w.needOther()
		w.copyWithMode(path, 0o755)
		w.give(path, 0o755)
		return path
	}},
	{"link-to-foreign", "a link to an executable of another user's", func(w *world, path string) string {
		w.needOther()
		w.copyWithMode(path, 0o755)
		w.give(path, 0o755)
		must(os.Symlink(path, path+"-link"))
		return path + "-link"
	}},
	{"foreign-directory", "an executable of ours in another user's directory", func(w *world, path string) string {
		w.needOther()
		w.copyWithMode(path, 0o755)
		w.give(filepath.Dir(path), 0o755)
		return path
	}},
	{"writable-directory", "an executable of ours in a directory that everybody may write", func(w *world, path string) string {
		w.copyWithMode(path, 0o755)
		must(os.Chmod(filepath.Dir(path), 0o777))
		return path
	}},
	{"script", "a script that says what middleman would say", func(w *world, path string) string {
		executable(path, "#!/bin/sh\ncase \"$*\" in *describe*) echo '{\"build\":\"x\",\"handover\":[0]}';; *) printf ok;; esac\n")
		return path
	}},
	{"fifo", "a FIFO", func(_ *world, path string) string { fifo(path); return path }},
	{"directory", "a directory", func(_ *world, path string) string { return filepath.Dir(path) }},
	{"loop", "a link to itself", func(_ *world, path string) string { must(os.Symlink(path, path)); return path }},
	{"missing", "a file that there is not", func(_ *world, path string) string { return path }},
	{"proc", "our own descriptor in /proc", func(_ *world, path string) string { return "/proc/self/fd/0" }},
}

func (w *world) copyWithMode(path string, mode os.FileMode) string {
	must(errors.Join(copyFile(w.binary, path), os.Chmod(path, mode)))
	return path
}

func upgradeProbes() []probe {
	probes := []probe{{id: "control", title: "an executable that is ours alone is taken", control: true, gain: "nothing: it shows that the refusals below are refusals",
		run: func(w *world) error {
			s := must1(w.shared())
			_, session := s.newTarget("upgrade-control", "cat")
			reply := s.askUpgrade(session, w.copyWithMode(filepath.Join(w.place(), "middleman"), 0o755))
			if !strings.Contains(reply, `"result"`) {
				return fmt.Errorf("the owner answers %s", reply)
			}
			return nil
		}}}
	for _, c := range candidates {
		probes = append(probes, probe{id: c.name, title: "an owner becomes " + c.title, gain: "the user's sessions, for whoever can write that file", run: func(w *world) error {
			s := must1(w.shared())
			path := c.make(w, filepath.Join(w.place(), "middleman"))
			exe := fmt.Sprintf("/proc/%d/exe", s.owner(s.session).OwnerPID)
			before, _ := os.Readlink(exe) // only root may look, where owners are closed
			reply := s.askUpgrade(s.session, path)
			if !strings.Contains(reply, `"error"`) {
				return fmt.Errorf("the owner answers %s", cut(reply, 300))
			}
			if now, _ := os.Readlink(exe); now != before {
				return fmt.Errorf("the owner is %s now", now)
			}
			return s.alive()
		}})
	}
	return probes
}

// askUpgrade asks a session's owner to become an executable, and returns its
// reply.
func (s *server) askUpgrade(session, path string) string {
	c := joins(s.owner(session), "control", "")
	defer c.close()
	c.send(ownerFrame(requestFrame, fmt.Sprintf(`{"id":1,"verb":"upgrade","args":{"executable":%q}}`, path)))
	kind, payload, err := c.next()
	must(err)
	return fmt.Sprintf("frame %d %s", kind, payload)
}
