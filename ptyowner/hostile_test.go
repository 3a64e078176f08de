//go:build unix

package ptyowner_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/internal/testenv"
	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// peer is a raw connection to a session's owner.
type peer struct {
	t     *testing.T
	conn  net.Conn
	r     *wire.Reader
	token string
}

func dialOwner(t *testing.T, data, id string) *peer {
	t.Helper()
	r := record(t, filepath.Join(data, "sessions", id))
	conn, err := net.Dial("unix", r["socket"].(string))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return &peer{t: t, conn: conn, r: wire.NewReader(conn), token: r["token"].(string)}
}

func (p *peer) hello(h wire.Hello) {
	p.t.Helper()
	h.MinVersion, h.MaxVersion = max(h.MinVersion, 1), max(h.MaxVersion, 1)
	if h.Token == "" {
		h.Token = p.token
	}
	p.send(wire.AppendControl(nil, wire.TypeHello, h))
}

func (p *peer) send(b []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// closed checks that the owner closes without a word.
func (p *peer) closed(what string) {
	p.t.Helper()
	if typ, payload, err := p.r.Read(wire.MaxFrame); err == nil {
		p.t.Errorf("%s: answered with type %d %s", what, typ, payload)
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		p.t.Errorf("%s: not closed", what)
	}
}

// refused checks for an Error frame with a code.
func (p *peer) refused(what, code string) {
	p.t.Helper()
	typ, payload, err := p.r.Read(wire.MaxFrame)
	var e wire.Error
	if err != nil || typ != wire.TypeError || wire.ParseControl(typ, payload, &e) != nil || e.Code != code {
		p.t.Errorf("%s: type %d %s %v, want an error %q", what, typ, payload, err, code)
	}
}

func (p *peer) welcomed(what string) {
	p.t.Helper()
	if typ, payload, err := p.r.Read(wire.MaxFrame); err != nil || typ != wire.TypeWelcome {
		p.t.Fatalf("%s: type %d %s %v, want a welcome", what, typ, payload, err)
	}
}

// Whoever cannot prove itself gets nothing, and the session's own viewer does
// not notice.
func TestStrangers(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("stty raw -echo; echo READY; exec cat")
	start(t, b, s, nil)
	a, err := b.Session(s.ID).Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach, From: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	receive := func(want string) {
		t.Helper()
		for got := ""; !strings.Contains(got, want); {
			m, err := a.Receive()
			if err != nil {
				t.Fatal(err)
			}
			got += string(m.Data)
		}
	}
	receive("READY")

	p := dialOwner(t, data, s.ID)
	p.hello(wire.Hello{Token: "wrong", Mode: wire.ModeAttach, Takeover: true})
	p.closed("wrong token")

	p = dialOwner(t, data, s.ID)
	p.send(wire.AppendFrame(nil, wire.TypeInput, []byte("first frame")))
	p.closed("no hello")

	p = dialOwner(t, data, s.ID)
	p.send(wire.AppendHeader(nil, wire.TypeHello, wire.MaxHello+1))
	p.closed("hello over the limit")

	p = dialOwner(t, data, s.ID)
	p.send(wire.AppendFrame(nil, wire.TypeHello, []byte("{")))
	p.closed("hello that is no JSON")

	p = dialOwner(t, data, s.ID)
	p.hello(wire.Hello{Mode: "own"})
	p.refused("unknown mode", wire.CodeBadRequest)

	p = dialOwner(t, data, s.ID)
	p.hello(wire.Hello{Mode: wire.ModeWatch, MinVersion: 77, MaxVersion: 78})
	p.refused("version from the future", wire.CodeVersion)

	beyond := uint64(1 << 50)
	p = dialOwner(t, data, s.ID)
	p.hello(wire.Hello{Mode: wire.ModeWatch, From: &beyond})
	p.refused("offset beyond the head", wire.CodeRange)

	p = dialOwner(t, data, s.ID)
	p.hello(wire.Hello{Mode: wire.ModeControl})
	p.welcomed("control")
	p.send(wire.AppendHeader(nil, wire.TypeInput, 8<<20))
	p.closed("frame of 8 MiB")

	p = dialOwner(t, data, s.ID)
	p.hello(wire.Hello{Mode: wire.ModeControl})
	p.welcomed("control")
	p.send(wire.AppendFrame(nil, 211, []byte("a type from the future")))
	p.send(wire.AppendControl(nil, wire.TypeRequest, wire.Request{ID: 9, Verb: "dance"}))
	typ, payload, err := p.r.Read(wire.MaxFrame)
	var reply wire.Reply
	if err != nil || wire.ParseControl(typ, payload, &reply) != nil || reply.ID != 9 || reply.Error == nil || reply.Error.Code != wire.CodeUnknown {
		t.Errorf("unknown verb after an unknown type: %d %s %v", typ, payload, err)
	}

	if err := a.Input([]byte("still here")); err != nil {
		t.Fatal(err)
	}
	receive("still here")
}

// Silent connections cost nobody a place: the oldest goes, and those that stay
// are closed after two seconds.
func TestSilentConnections(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("exec sleep 1000")
	start(t, b, s, nil)
	best := time.Hour // a busy machine makes some of them slow
	for try := 0; try < 3 && best > 15*time.Second; try++ {
		var silent []*peer
		for range 200 {
			silent = append(silent, dialOwner(t, data, s.ID))
		}
		if _, err := b.Session(s.ID).Status(context.Background()); err != nil {
			t.Fatalf("status beside silent connections: %v", err)
		}
		began := time.Now()
		slices.Reverse(silent)
		for _, p := range silent {
			p.closed("silent")
		}
		best = min(best, time.Since(began))
	}
	if best > 15*time.Second {
		t.Errorf("closed after %v, want about 2 s", best)
	}
}

// Limits hold at, under and over: of a Hello, and of every frame after it.
func TestLimits(t *testing.T) {
	data, newBackend := newBackends(t)
	s := spec("exec sleep 1000")
	start(t, newBackend(), s, nil)
	for _, over := range []int{-1, 0, 1} {
		p := dialOwner(t, data, s.ID)
		hello := wire.Hello{MinVersion: 1, MaxVersion: 1, Token: p.token, Mode: wire.ModeControl}
		room := wire.MaxHello + over - len(wire.AppendControl(nil, wire.TypeHello, hello)) + wire.HeaderSize - len(`,"client":""`)
		hello.Client = strings.Repeat("c", room)
		p.send(wire.AppendControl(nil, wire.TypeHello, hello))
		if over > 0 {
			p.closed("hello over the limit")
		} else {
			p.welcomed("hello within the limit")
		}

		p = dialOwner(t, data, s.ID)
		p.hello(wire.Hello{Mode: wire.ModeControl})
		p.welcomed("control")
		p.send(wire.AppendFrame(nil, 200, make([]byte, wire.MaxFrame+over)))
		if over > 0 {
			p.closed("frame over the limit")
			continue
		}
		p.send(wire.AppendControl(nil, wire.TypeRequest, wire.Request{ID: 1, Verb: wire.VerbStatus}))
		p.reply(1, &wire.Status{})
	}
}

// A viewer that never reads holds up neither the program nor other viewers.
func TestStalledViewersCostNobody(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	const size = 40 << 20
	s := spec("head -c 41943040 /dev/zero | tr '\\0' x")
	s.JournalBytes = 0
	start(t, b, s, nil)
	for _, mode := range []wire.Mode{wire.ModeAttach, wire.ModeWatch, wire.ModeWatch} {
		p := dialOwner(t, data, s.ID)
		p.hello(wire.Hello{Mode: mode, From: new(uint64)})
		p.welcomed("stalled viewer") // and reads no more
	}
	a, err := b.Session(s.ID).Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeWatch, From: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var next uint64
	for {
		m, err := a.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch m.Kind {
		case terminal.MessageOutput:
			if m.Offset != next {
				t.Fatalf("output at %d, want %d", m.Offset, next)
			}
			next += uint64(len(m.Data))
		case terminal.MessageSnapshot:
			t.Fatalf("a snapshot at %d, though everything is kept", m.Offset)
		case terminal.MessageExit:
			if m.Exit.Offset != size || next != size {
				t.Errorf("exit at offset %d after %d bytes, want %d", m.Exit.Offset, next, size)
			}
		}
	}
}

// A notification that would not fit a frame is cut, and breaks no connection.
func TestHugeEvent(t *testing.T) {
	_, newBackend := newBackends(t)
	b := newBackend()
	s := spec(`stty -echo; read go; printf '\033]9;'; head -c 200000 /dev/zero | tr '\0' '\001'; printf '\007'; printf '\033]9;'; head -c 200000 /dev/zero | tr '\0' n; printf '\007THE END'; exec sleep 1000`)
	start(t, b, s, nil)
	a, err := b.Session(s.ID).Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach, From: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer time.AfterFunc(time.Minute, func() { a.Close() }).Stop()
	// A viewer is told of what happens while it is attached, not of notifications before.
	if err := a.Input([]byte("\r")); err != nil {
		t.Fatal(err)
	}
	notified := false
	for text := ""; !notified || !strings.Contains(text, "THE END"); {
		m, err := a.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind == terminal.MessageOutput {
			text = text[max(0, len(text)-16):] + string(m.Data)
		}
		notified = notified || m.Kind == terminal.MessageEvent && strings.HasPrefix(m.Event.Text, "nnn")
	}
}

// A viewer for whom too much lag is useless gets a snapshot, and goes on.
func TestLagGetsASnapshot(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("i=0; while [ $i -lt 200000 ]; do echo line $i; i=$((i+1)); done; echo THE END; exec sleep 1000")
	start(t, b, s, nil)
	p := dialOwner(t, data, s.ID)
	p.hello(wire.Hello{Mode: wire.ModeWatch, From: new(uint64), MaxLag: 1000})
	p.welcomed("lagging viewer")
	if err := waitText(b.Session(s.ID), "THE END"); err != nil {
		t.Fatal(err)
	}
	var next uint64
	snapshots := 0
	for text := ""; !strings.Contains(text, "THE END"); {
		typ, payload, err := p.r.Read(wire.MaxFrame)
		if err != nil {
			t.Fatal(err)
		}
		switch typ {
		case wire.TypeOutput:
			offset, bytes, _ := wire.ParseData(payload)
			if offset != next {
				t.Fatalf("output at %d, want %d: neither contiguous nor after a snapshot", offset, next)
			}
			next += uint64(len(bytes))
			text = string(bytes)
		case wire.TypeSnapshot:
			if len(payload) >= wire.OffsetSize {
				next = binary.BigEndian.Uint64(payload)
			}
			text = string(payload)
			snapshots++
		}
	}
	if snapshots == 0 {
		t.Error("no snapshot, though the viewer was far behind")
	}
}

// waitText waits for a text in a session's output, by watching it.
func waitText(s terminal.Session, text string) error {
	a, err := s.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeWatch, From: new(uint64)})
	if err != nil {
		return err
	}
	defer a.Close()
	tail := ""
	for !strings.Contains(tail, text) {
		m, err := a.Receive()
		if err != nil {
			return err
		}
		tail += string(m.Data)
		tail = tail[max(0, len(tail)-64<<10):]
	}
	return nil
}

// knockProgram is the argument that makes this binary connect to an owner.
const knockProgram = "knock-program"

// knockAtOwner says Hello with the token on standard input, and prints what
// comes.
func knockAtOwner(socket string) int {
	hello, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 1
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	conn.SetDeadline(time.Now().Add(time.Minute))
	conn.Write(hello)
	typ, _, err := wire.NewReader(conn).Read(wire.MaxFrame)
	fmt.Printf("uid %d: type %d, %v\n", os.Getuid(), typ, err)
	return 0
}

// TestAnotherUser: who reaches the socket, and has the token, is refused still
// where the system says that it is another user.
func TestAnotherUser(t *testing.T) {
	testenv.NeedRoot(t, "become another user")
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("exec sleep 1000")
	start(t, b, s, nil)
	dir := filepath.Join(data, "sessions", s.ID)
	r := record(t, dir)
	socket := r["socket"].(string)
	for at := filepath.Dir(socket); at != filepath.Dir(data); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(data, "knock")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	testenv.WriteProgram(t, program, string(exe))
	hello := wire.AppendControl(nil, wire.TypeHello, wire.Hello{MinVersion: 1, MaxVersion: 1, Token: r["token"].(string), Mode: wire.ModeControl})
	for uid, want := range map[uint32]string{0: "type 2, <nil>", 65534: "type 0, EOF"} {
		cmd := exec.Command(program, knockProgram, socket)
		cmd.Stdin, cmd.Dir = bytes.NewReader(hello), "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		// Closed with the Hello unread, a socket is reset.
		got := strings.Replace(strings.TrimSpace(string(out)), "read: connection reset by peer", "EOF", 1)
		if i := strings.Index(got, "read unix"); i >= 0 && strings.HasSuffix(got, "EOF") {
			got = got[:i] + "EOF"
		}
		if err != nil || got != fmt.Sprintf("uid %d: %s", uid, want) {
			t.Errorf("uid %d: %q, %v; want %s", uid, out, err, want)
		}
	}
}
