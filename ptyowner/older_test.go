//go:build unix

package ptyowner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/internal/private"
	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// recordedID is the session of the recordings.
const recordedID = "srec0rded00000001"

// olderOwner is an owner of the first release, as far as its bytes and its
// state directory go: it sends what was recorded, beside what a release that is
// yet to come might add.
type olderOwner struct {
	t       *testing.T
	dir     string
	session terminal.Session
	// onHello serves a connection that has said Hello.
	onHello func(c *olderConn, hello wire.Hello)
	conns   sync.WaitGroup
	mu      sync.Mutex // guards count
	count   int        // connections
}

// olderConn is a connection on the owner's side.
type olderConn struct {
	o    *olderOwner
	conn net.Conn
	r    *wire.Reader
}

// newOlderOwner makes the state directory, holds its lock, and listens.
// protocols replaces the range of the protocols in its owner.json.
func newOlderOwner(t *testing.T, protocols string, onHello func(*olderConn, wire.Hello)) *olderOwner {
	t.Helper()
	data := testenv.ShortDir(t)
	o := &olderOwner{t: t, dir: filepath.Join(data, "sessions", recordedID), onHello: onHello}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(o.dir, "owner.sock")
	record, err := os.ReadFile("testdata/v1/owner.json")
	if err != nil {
		t.Fatal(err)
	}
	record = bytes.Replace(record, []byte("@SOCKET@"), []byte(socket), 1)
	if protocols != "" {
		record = bytes.Replace(record, []byte("\"min_protocol\": 1,\n  \"max_protocol\": 1"), []byte(protocols), 1)
	}
	if err := os.WriteFile(filepath.Join(o.dir, "owner.json"), record, 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := private.TryLock(filepath.Join(o.dir, "owner.lock"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	o.conns.Go(func() { o.serve(l) })
	t.Cleanup(func() {
		l.Close()
		o.conns.Wait()
		lock.Close()
	})
	o.session = newBackend(t, ptyowner.Options{
		Data: data, Sessions: filepath.Join(data, "sessions"), Runtime: filepath.Join(data, "run"),
	}).Session(recordedID)
	return o
}

func (o *olderOwner) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // closed
		}
		o.mu.Lock()
		o.count++
		o.mu.Unlock()
		o.conns.Go(func() {
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(time.Minute))
			c := &olderConn{o: o, conn: conn, r: wire.NewReader(conn)}
			var hello wire.Hello
			typ, payload, err := c.r.Read(wire.MaxHello)
			if err != nil || typ != wire.TypeHello || wire.ParseControl(typ, payload, &hello) != nil ||
				hello.Token != recordedToken || hello.MinVersion > 1 || hello.MaxVersion < 1 {
				o.t.Errorf("hello: type %d %s %v", typ, payload, err)
				return
			}
			o.onHello(c, hello)
		})
	}
}

// send sends recorded frames as a later release might: with fields that nobody
// knows yet, and frames of a type that nobody knows yet between them.
func (c *olderConn) send(frames ...[]byte) {
	for _, frame := range frames {
		payload := frame[wire.HeaderSize:]
		if payload[0] == '{' {
			payload = append([]byte(`{"from_the_future":[{"a":null}],`), payload[1:]...)
		}
		out := wire.AppendFrame(nil, 200, []byte("a type from the future"))
		out = wire.AppendFrame(out, wire.Type(frame[4]), payload)
		if _, err := c.conn.Write(out); err != nil {
			c.o.t.Errorf("older owner: %v", err)
			return
		}
	}
}

// answer sends the recorded replies to each verb until the client leaves.
func (c *olderConn) answer(replies map[wire.Verb][][]byte) {
	for {
		typ, payload, err := c.r.Read(wire.MaxFrame)
		if err != nil {
			return
		}
		var q wire.Request
		if typ != wire.TypeRequest || wire.ParseControl(typ, payload, &q) != nil || q.ID != 1 || replies[q.Verb] == nil {
			c.o.t.Errorf("older owner was sent type %d %s", typ, payload)
			return
		}
		c.send(replies[q.Verb]...)
	}
}

// TestOlderOwnerAnswers: this build's client asks an owner of the first release.
func TestOlderOwnerAnswers(t *testing.T) {
	ctx := context.Background()
	r := recorded(t, "reply")
	replies := map[wire.Verb][][]byte{
		wire.VerbStatus: {r[0]}, wire.VerbCapture: {r[1], r[2]}, wire.VerbInput: {r[3]}, wire.VerbStop: {r[5]},
	}
	o := newOlderOwner(t, "", func(c *olderConn, hello wire.Hello) {
		c.send(recorded(t, "welcome")[0])
		c.answer(replies)
	})
	st, err := o.session.Status(ctx)
	if err != nil || st.State != terminal.StateRunning || st.PID != 4242 || st.Head != 21 || st.Oldest != 7 ||
		st.Size != terminal.DefaultSize || st.Title != "a title" || st.Watchers != 2 || st.Writer == nil ||
		st.Writer.Client != "web" || st.Source != "owner" || st.Workspace != "wrec0rded00000001" || st.Argv[2] != "echo recorded" {
		t.Errorf("status %+v, %v", st, err)
	}
	c, err := o.session.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatText})
	if err != nil || string(c.Data) != "first line\n" || c.Offset != 21 || c.Title != "a title" {
		t.Errorf("capture %+v, %v", c, err)
	}
	if err := o.session.Input(ctx, []byte("x")); err != nil {
		t.Errorf("input: %v", err)
	}
	if at, err := o.session.Type(ctx, []byte("x"), terminal.Expect{}); err != nil || at != 21 {
		t.Errorf("typed at %d, %v, want the head of before", at, err)
	}
	if err := o.session.Stop(ctx, time.Second); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := o.session.Remove(ctx); !errors.Is(err, terminal.ErrRunning) {
		t.Errorf("remove: %v, want %v", err, terminal.ErrRunning)
	}
}

func TestOlderOwnerRefuses(t *testing.T) {
	r := recorded(t, "reply")
	replies := map[wire.Verb][][]byte{wire.VerbInput: {r[7]}, wire.VerbStop: {r[6]}}
	o := newOlderOwner(t, "", func(c *olderConn, hello wire.Hello) {
		c.send(recorded(t, "welcome")[0])
		c.answer(replies)
	})
	if err := o.session.Input(context.Background(), []byte("x")); !errors.Is(err, terminal.ErrEnded) {
		t.Errorf("input: %v, want %v", err, terminal.ErrEnded)
	}
	var left *terminal.LeftoverError
	if err := o.session.Stop(context.Background(), -1); !errors.As(err, &left) || !slices.Equal(left.PIDs, []int{4243}) {
		t.Errorf("stop: %v, want process 4243 left", err)
	}
}

// TestOlderOwnerStreams: this build's client attaches to an owner of the first
// release, and types.
func TestOlderOwnerStreams(t *testing.T) {
	typed := make(chan string, 8)
	o := newOlderOwner(t, "", func(c *olderConn, hello wire.Hello) {
		if hello.Mode != wire.ModeAttach || hello.Client != "attach" || *hello.From != 0 || hello.Size.Cols != 80 {
			t.Errorf("hello %+v", hello)
		}
		output, exit := recorded(t, "output"), recorded(t, "exit")
		c.send(recorded(t, "welcome")[0], output[0])
		c.send(recorded(t, "event")...)
		c.send(output[1])
		for {
			typ, payload, err := c.r.Read(wire.MaxFrame)
			if err != nil {
				return
			}
			typed <- string(wire.AppendFrame(nil, typ, payload)[4:])
			if typ == wire.TypeResize {
				c.send(exit[0])
			}
		}
	})
	a, err := o.session.Attach(context.Background(), terminal.AttachOptions{
		Mode: terminal.ModeAttach, Client: "attach", From: new(uint64), Size: terminal.DefaultSize,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if h := a.Hello(); h.PID != 4242 || h.Head != 21 || h.Title != "a title" || h.Writer.Client != "web" {
		t.Errorf("hello %+v", h)
	}
	var got []string
	var output string
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
			output += string(m.Data)
			if m.Offset == 12 { // the last
				if err := errors.Join(a.Input([]byte("keys")), a.Resize(terminal.Size{Cols: 100, Rows: 30, XPixels: 1000, YPixels: 600})); err != nil {
					t.Error(err)
				}
			}
		case terminal.MessageEvent:
			got = append(got, string(m.Event.Kind))
		case terminal.MessageExit:
			if m.Exit.Status() != 143 || m.Exit.SignalName != "SIGTERM" || m.Exit.Offset != 21 || m.Exit.Title != "a title" {
				t.Errorf("exit %+v", m.Exit)
			}
		}
	}
	if output != "first line\r\n\x1b[1mbold!" || strings.Join(got, " ") != "title bell notification directory writer size" {
		t.Errorf("output %q, events %q", output, got)
	}
	for _, want := range []string{"\x03keys", string(recorded(t, "resize")[0][4:]), string(recorded(t, "ack")[0][4:])} {
		if got := testenv.Receive(t, time.Minute, "what was typed", typed); got != want {
			t.Errorf("the older owner was sent %q, want %q", got, want)
		}
	}
}

// TestOlderOwnerDetaches: a snapshot, and every reason to leave.
func TestOlderOwnerDetaches(t *testing.T) {
	for i, reason := range []terminal.DetachReason{terminal.DetachTakeover, terminal.DetachStop, terminal.DetachPolicy} {
		o := newOlderOwner(t, "", func(c *olderConn, hello wire.Hello) {
			c.send(recorded(t, "welcome")[1], recorded(t, "snapshot")[0], recorded(t, "detached")[i])
		})
		a, err := o.session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeWatch})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if m, err := a.Receive(); err != nil || m.Kind != terminal.MessageSnapshot || m.Offset != 21 || !bytes.Contains(m.Data, []byte("first line")) {
			t.Errorf("%s: %+v, %v, want a snapshot", reason, m, err)
		}
		if m, err := a.Receive(); err != nil || m.Kind != terminal.MessageDetached || m.Reason != reason {
			t.Errorf("%s: %+v, %v", reason, m, err)
		}
		if _, err := a.Receive(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: then %v", reason, err)
		}
	}
}

// TestBrokenConnection: it is no regular end, and says nothing of the session.
func TestBrokenConnection(t *testing.T) {
	o := newOlderOwner(t, "", func(c *olderConn, hello wire.Hello) { c.send(recorded(t, "welcome")[0]) })
	a, err := o.session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeWatch, From: new(uint64)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := a.Receive(); !errors.Is(err, terminal.ErrUnreachable) || errors.Is(err, io.EOF) {
		t.Errorf("%v, want %v, and no %v", err, terminal.ErrUnreachable, io.EOF)
	}
}

// TestOlderOwnerRefusals: each recorded refusal has the meaning that callers
// branch on.
func TestOlderOwnerRefusals(t *testing.T) {
	for i, want := range []error{nil, errors.ErrUnsupported, terminal.ErrRange, terminal.ErrTooManyViewers} {
		o := newOlderOwner(t, "", func(c *olderConn, hello wire.Hello) { c.send(recorded(t, "error")[i]) })
		_, err := o.session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach})
		var busy *terminal.BusyError
		if want == nil && (!errors.As(err, &busy) || busy.Writer.Client != "web") || !errors.Is(err, want) && want != nil {
			t.Errorf("refusal %d: %v, want %v", i, err, want)
		}
	}
}

// TestNoVersionInCommon: the error tells both ranges, and nothing was touched.
func TestNoVersionInCommon(t *testing.T) {
	for _, tt := range []struct {
		name, protocols string
		asked           bool
		says            []string
	}{
		{"by the record", "\"min_protocol\": 7,\n  \"max_protocol\": 9", false, []string{"protocol 7 to 9", "this build 1 to 1", "v0.1.0"}},
		{"by the owner", "", true, []string{"protocol 1 to 1", "asked for 7 to 9"}}, // as recorded
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOlderOwner(t, tt.protocols, func(c *olderConn, hello wire.Hello) { c.send(recorded(t, "error")[1]) })
			before := tree(t, o.dir)
			ctx := context.Background()
			_, statusErr := o.session.Status(ctx)
			_, attachErr := o.session.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeWatch})
			for what, err := range map[string]error{
				"status": statusErr, "attach": attachErr,
				"input": o.session.Input(ctx, []byte("x")), "stop": o.session.Stop(ctx, 0),
			} {
				if !errors.Is(err, terminal.ErrUnreachable) || !errors.Is(err, errors.ErrUnsupported) {
					t.Fatalf("%s: %v, want unreachable and unsupported", what, err)
				}
				for _, says := range tt.says {
					if !strings.Contains(err.Error(), says) {
						t.Errorf("%s: %q does not say %q", what, err, says)
					}
				}
			}
			if err := o.session.Remove(ctx); !errors.Is(err, terminal.ErrRunning) {
				t.Errorf("remove: %v, want %v", err, terminal.ErrRunning)
			}
			if after := tree(t, o.dir); after != before {
				t.Errorf("state directory was\n%s\nis\n%s", before, after)
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			if asked := o.count > 0; asked != tt.asked {
				t.Errorf("connected: %v", asked)
			}
		})
	}
}

// tree is what a directory holds.
func tree(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		b, _ := os.ReadFile(filepath.Join(dir, e.Name())) // not the socket
		all[e.Name()] = e.Type().String() + " " + string(b)
	}
	out, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestOlderOwnerExpectsNothing: an owner that would type in any case is not
// asked to type on a condition, nor to hash rows that it would not choose.
func TestOlderOwnerExpectsNothing(t *testing.T) {
	ctx := context.Background()
	o := newOlderOwner(t, "", func(c *olderConn, hello wire.Hello) {
		c.send(recorded(t, "welcome")[0])
		if typ, payload, err := c.r.Read(wire.MaxFrame); err == nil {
			t.Errorf("it was sent type %d %q", typ, payload)
		}
	})
	_, rowsErr := o.session.Capture(ctx, terminal.CaptureOptions{Rows: terminal.Rows{First: 1, Last: 2}})
	errs := map[string]error{"rows": rowsErr}
	for what, e := range map[string]terminal.Expect{"offset": {Offset: new(uint64)}, "hash": {Hash: "x"}, "idle": {Idle: 1}} {
		_, errs[what] = o.session.Type(ctx, []byte("x"), e)
	}
	_, heldErr := o.session.Type(ctx, []byte("x"), terminal.Expect{Held: true})
	if !errors.Is(heldErr, errors.ErrUnsupported) || !strings.Contains(heldErr.Error(), `"held"`) {
		t.Errorf("held: %v, want unsupported, by name", heldErr)
	}
	for what, err := range errs {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), `"expect"`) || !strings.Contains(err.Error(), "v0.1.0") {
			t.Errorf("%s: %v, want unsupported, by name", what, err)
		}
	}
}

// TestOlderOwnerWithoutAFeature: what it cannot do is said by name, before it
// is asked; all else works.
func TestOlderOwnerWithoutAFeature(t *testing.T) {
	ctx := context.Background()
	replies := map[wire.Verb][][]byte{wire.VerbStatus: {recorded(t, "reply")[0]}}
	o := newOlderOwner(t, "", func(c *olderConn, hello wire.Hello) {
		welcome := recorded(t, "welcome")[0][wire.HeaderSize:]
		welcome = bytes.Replace(welcome, []byte(`["capture","stop","input","wait"]`), []byte(`[]`), 1)
		c.send(wire.AppendFrame(nil, wire.TypeWelcome, welcome))
		c.answer(replies)
	})
	_, err := o.session.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatText})
	for feature, err := range map[string]error{
		"capture": err, "input": o.session.Input(ctx, []byte("x")), "stop": o.session.Stop(ctx, 0),
	} {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), `"`+feature+`"`) || !strings.Contains(err.Error(), "v0.1.0") {
			t.Errorf("%s: %v, want unsupported, by name", feature, err)
		}
	}
	if st, err := o.session.Status(ctx); err != nil || st.State != terminal.StateRunning {
		t.Errorf("status: %+v, %v", st, err)
	}
}

// TestOlderOwnerTellsByItsOutput: who asks an owner for activity that cannot tell
// of it gets the output instead.
func TestOlderOwnerTellsByItsOutput(t *testing.T) {
	asked := make(chan wire.Hello, 3)
	o := newOlderOwner(t, "", func(c *olderConn, hello wire.Hello) {
		asked <- hello
		c.send(recorded(t, "welcome")[0])
		if !hello.NoOutput {
			c.send(wire.AppendData(nil, wire.TypeOutput, 21, []byte("printed")))
		}
		_, _, _ = c.r.Read(wire.MaxFrame) // until the client leaves
	})
	head := uint64(21)
	a, err := o.session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeWatch, From: &head, NoOutput: true, Activity: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := a.Receive()
	if err != nil || m.Kind != terminal.MessageOutput || string(m.Data) != "printed" {
		t.Errorf("%+v, %v", m, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if first, second := <-asked, <-asked; !first.Activity || !first.NoOutput || second.NoOutput || len(asked) > 0 {
		t.Errorf("asked %+v, then %+v", first, second)
	}
}
