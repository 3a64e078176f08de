//go:build unix

package backendtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"middleman/terminal"
)

func testAttach(f *fixture) {
	s := f.sh(`echo READY; read x; echo "got $x."; read x`)
	v := f.attach(s, terminal.AttachOptions{
		Mode: terminal.ModeAttach, Client: "contract", Size: terminal.Size{Cols: 70, Rows: 20},
	})
	v.shows("READY")
	h := v.a.Hello()
	if h.Size.Cols != 70 || h.Size.Rows != 20 || h.PID == 0 || h.Writer == nil || h.Writer.Client != "contract" {
		f.Errorf("hello %+v", h)
	}
	v.types("hello\r")
	v.shows("got hello.")
	st, err := s.Status(f.ctx)
	f.ok(err)
	if st.Writer == nil || st.Writer.Client != "contract" || st.Size.Cols != 70 {
		f.Errorf("status %+v with writer %+v", st, st.Writer)
	}
	v.close()
	f.eventually("the writer left", func() bool {
		st, err := s.Status(f.ctx)
		f.ok(err)
		return st.Writer == nil && st.State == terminal.StateRunning
	})
}

// testAttachFrom: the bytes of two attachments, the second from where the first
// was, are the program's.
func testAttachFrom(f *fixture) {
	s := f.sh(`echo one; read x; echo two; read x`)
	f.printed(s, "one")
	from := uint64(3)
	v := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize, From: &from})
	if o := v.a.Hello().Offset; o != from {
		f.Errorf("the attachment begins at %d, want %d", o, from)
	}
	v.types("\r")
	v.until("two", func() bool { return bytes.HasSuffix(v.bytes, []byte("two\r\n")) })
	want := f.output(s, from)
	v.mu.Lock()
	defer v.mu.Unlock()
	if !bytes.Equal(v.bytes, want) {
		f.Errorf("received %q, want %q", v.bytes, want)
	}
	beyond := uint64(1 << 40)
	_, err := s.Attach(f.ctx, terminal.AttachOptions{Mode: terminal.ModeWatch, From: &beyond})
	f.is("attach from beyond the head", err, terminal.ErrRange)
}

func testWatch(f *fixture) {
	s := f.sh(`echo READY; read x; echo "got $x."; read x`)
	w := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeWatch, Size: terminal.Size{Cols: 20, Rows: 5}})
	w.shows("READY")
	if err := w.a.Input([]byte("x\r")); err != nil {
		f.is("input of a watcher", err, terminal.ErrNotWriter)
	} else {
		f.Error("a watcher's input was taken")
	}
	f.is("resize by a watcher", w.a.Resize(terminal.Size{Cols: 20, Rows: 5}), terminal.ErrNotWriter)
	v := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	v.types("hello\r")
	v.shows("got hello.")
	w.shows("got hello.")
	st, err := s.Status(f.ctx)
	f.ok(err)
	if st.Watchers != 1 || st.Size.Cols != terminal.DefaultSize.Cols {
		f.Errorf("%d watchers and %d columns, want 1 and %d", st.Watchers, st.Size.Cols, terminal.DefaultSize.Cols)
	}
}

// testWatchEvents: who wants no output gets none, but every event at its time,
// and the exit.
func testWatchEvents(f *fixture) {
	s := f.sh(`echo READY; read x; echo "got $x."; read x; exit 3`)
	f.printed(s, "READY")
	st, err := s.Status(f.ctx)
	f.ok(err)
	w := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeWatch, From: &st.Head, NoOutput: true})
	v := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.Size{Cols: 100, Rows: 30}})
	w.until("the writer's size", func() bool { return len(w.sizes) == 1 })
	v.types("hello\r")
	v.shows("got hello.")
	v.resize(terminal.Size{Cols: 90, Rows: 20})
	w.until("the next size", func() bool { return len(w.sizes) == 2 })
	v.types("\r")
	if m := w.ends(terminal.MessageExit); m.Exit.Code != 3 || len(w.bytes) > 0 {
		f.Errorf("exit code %d and output %q, want 3 and none", m.Exit.Code, w.bytes)
	}
}

// testAttachmentAsks: what an attachment is asked, it answers as the session does, as
// often as it is asked; once the session has ended it says that it cannot.
func testAttachmentAsks(f *fixture) {
	s := f.sh(`echo READY; read x; exit 3`)
	f.printed(s, "READY")
	st, err := s.Status(f.ctx)
	f.ok(err)
	w := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeWatch, From: &st.Head, NoOutput: true})
	asking, ok := w.a.(terminal.AskingAttachment)
	if !ok {
		f.Fatalf("%T cannot be asked", w.a)
	}
	for range 20 {
		got, err := asking.Status(f.ctx)
		f.ok(err)
		want, err := s.Status(f.ctx)
		f.ok(err)
		if got.AsOf, want.AsOf = st.AsOf, st.AsOf; !reflect.DeepEqual(got, want) {
			f.Fatalf("it answers %+v, the session %+v", got, want)
		}
	}
	v := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.Size{Cols: 100, Rows: 30}})
	if got, err := asking.Status(f.ctx); err != nil || got.Writer == nil || got.Size.Cols != 100 {
		f.Errorf("with a writer it answers %+v, %v", got, err)
	}
	v.types("\r")
	w.ends(terminal.MessageExit)
	if got, err := asking.Status(f.ctx); err == nil {
		f.Errorf("after the exit it answers %+v", got)
	}
}

// testWatchActivity: who asks for it is told of output, of the last of it too,
// and gets none of it. It is told about ten times a second, however much there is.
func testWatchActivity(f *fixture) {
	s := f.sh(`stty -echo; echo READY; read x; echo once; read x; seq 1 200000; read x; exit 3`)
	f.printed(s, "READY")
	st, err := s.Status(f.ctx)
	f.ok(err)
	deaf := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeWatch, From: &st.Head, NoOutput: true})
	w := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeWatch, From: &st.Head, NoOutput: true, Activity: true})
	began := time.Now()
	f.ok(s.Input(f.ctx, []byte("\r")))
	w.until("the first output", func() bool { return len(w.output) > 0 && w.output[0] > st.Head })
	f.ok(s.Input(f.ctx, []byte("\r")))
	f.printed(s, "200000")
	st, err = s.Status(f.ctx)
	f.ok(err)
	w.until("the last output", func() bool { return w.output[len(w.output)-1] == st.Head })
	f.ok(s.Input(f.ctx, []byte("\r")))
	w.ends(terminal.MessageExit)
	deaf.ends(terminal.MessageExit)
	most := 10 + int(time.Since(began)/(80*time.Millisecond))
	if told := len(w.output); len(w.bytes) > 0 || len(deaf.output) > 0 || told > most {
		f.Errorf("told %d times of output, with %d bytes of it; who did not ask %d times", told, len(w.bytes), len(deaf.output))
	}
}

func testClose(f *fixture) {
	s := f.sh("echo READY; read x")
	for _, mode := range []terminal.Mode{terminal.ModeAttach, terminal.ModeWatch} {
		v := f.attach(s, terminal.AttachOptions{Mode: mode, Size: terminal.DefaultSize})
		v.shows("READY")
		v.close() // returns when Receive has
		if v.last != nil {
			f.Errorf("%s: a viewer that left got the last message %+v", mode, v.last)
		}
	}
	st, err := s.Status(f.ctx)
	f.ok(err)
	if st.State != terminal.StateRunning {
		f.Errorf("state %s after the viewers left", st.State)
	}
}

func testSecondWriter(f *fixture) {
	s := f.sh(`echo READY; while read x; do echo "got $x."; done`)
	o := terminal.AttachOptions{Mode: terminal.ModeAttach, Client: "first", Size: terminal.DefaultSize}
	first := f.attach(s, o)
	first.shows("READY")
	o.Client = "second"
	again := f.h.New().Session(f.id(s)) // as another process would
	_, err := again.Attach(f.ctx, o)
	busy, ok := err.(*terminal.BusyError)
	if !ok {
		f.Fatalf("second writer: %v, want a BusyError", err)
	}
	if busy.Writer.Client != "first" || busy.Writer.Since.IsZero() {
		f.Errorf("the second writer is told of %+v", busy.Writer)
	}
	first.types("still\r")
	first.shows("got still.")
	first.close()
	var second *viewer
	f.eventually("the second writer gets in", func() bool {
		var err error
		second, err = f.tryAttach(again, o)
		if _, busy := err.(*terminal.BusyError); busy {
			return false
		}
		f.ok(err)
		return true
	})
	second.types("second\r")
	second.shows("got second.")
}

func testTakeover(f *fixture) {
	s := f.sh(`echo READY; while read x; do echo "got $x."; done`)
	o := terminal.AttachOptions{Mode: terminal.ModeAttach, Client: "first", Size: terminal.DefaultSize}
	first := f.attach(s, o)
	first.shows("READY")
	o.Client, o.Takeover = "second", true
	second := f.attach(f.h.New().Session(f.id(s)), o)
	if r := first.ends(terminal.MessageDetached).Reason; r != terminal.DetachTakeover {
		f.Errorf("the first writer was detached by %q, want %q", r, terminal.DetachTakeover)
	}
	second.types("second\r")
	second.shows("got second.")
	st, err := s.Status(f.ctx)
	f.ok(err)
	if st.Writer == nil || st.Writer.Client != "second" {
		f.Errorf("writer %+v, want second", st.Writer)
	}
}

func (f *fixture) id(s terminal.Session) string {
	f.Helper()
	st, err := s.Status(f.ctx)
	f.ok(err)
	return st.ID
}

func testResize(f *fixture) {
	s := f.start(f.spec(program(f, "size")...))
	f.printed(s, "size 80x24.")
	v := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.Size{Cols: 100, Rows: 30}})
	f.printed(s, "size 100x30.")
	v.resize(terminal.Size{Cols: 123, Rows: 45})
	f.printed(s, "size 123x45.")
	v.shows("size 123x45.")
	st, err := s.Status(f.ctx)
	f.ok(err)
	if st.Size.Cols != 123 || st.Size.Rows != 45 {
		f.Errorf("size %+v, want 123x45", st.Size)
	}
	v.close()
	// The zero size leaves the session's as it is.
	v = f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach})
	if h := v.a.Hello(); h.Size.Cols != 123 || h.Size.Rows != 45 {
		f.Errorf("hello's size %+v, want 123x45", h.Size)
	}
	v.types("\r")
	if e := v.ends(terminal.MessageExit).Exit; e.Size.Cols != 123 || e.Size.Rows != 45 {
		f.Errorf("last size %+v, want 123x45", e.Size)
	}
}

// testJobControl: the program is in the foreground of a terminal of its own,
// and what it starts can be interrupted and stopped without it.
func testJobControl(f *fixture) {
	spec := f.spec(f.path("bash"), "--norc", "--noprofile", "-i")
	spec.Env = append(spec.Env, "PS1=prompt> ")
	s := f.start(spec)
	f.printed(s, "prompt> ")
	for _, step := range []struct{ input, want string }{
		{"sh -c 'echo A''A; exec sleep 1000'\r", "AA"},
		{"\x03", "^C"},
		{"echo status $? B''B\r", "status 130 BB"},
		{"sh -c 'echo C''C; exec sleep 1000'\r", "CC"},
		{"\x1a", "Stopped"},
		{"kill %1; wait %1; echo D''D\r", "DD"},
		// A bash that has not yet heard that its stopped job was killed refuses
		// the first exit: "There are stopped jobs."
		{"exit 3\rexit 3\r", "exit"},
	} {
		f.ok(s.Input(f.ctx, []byte(step.input)))
		f.printed(s, step.want)
	}
	if st := f.ended(s); st.Exit.Code != 3 {
		f.Errorf("exit %+v, want code 3", st.Exit)
	}
}

// digest is a script that prints the SHA-256 of the next n bytes of input.
func digest(n int) string {
	return fmt.Sprintf("stty raw -echo; echo READY; head -c %d | sha256sum; stty sane", n)
}

func testInputBytes(f *fixture) {
	all := make([]byte, 0, 512)
	for i := range 256 {
		all = append(all, byte(i), byte(255-i))
	}
	s := f.sh(digest(len(all)))
	f.printed(s, "READY")
	for i := 0; i < len(all); i += 64 { // order holds between calls too
		f.ok(s.Input(f.ctx, all[i:i+64]))
	}
	f.printed(s, fmt.Sprintf("%x", sha256.Sum256(all)))
	f.ended(s)
}

func testInputLarge(f *fixture) {
	p := stream(1<<20, 11)
	s := f.sh(digest(len(p)))
	f.printed(s, "READY")
	f.ok(s.Input(f.ctx, p))
	f.printed(s, fmt.Sprintf("%x", sha256.Sum256(p)))
	f.ended(s)
}

func testInputAttached(f *fixture) {
	p := stream(1<<20, 12)
	s := f.sh(digest(len(p)) + "; read x")
	v := f.attach(s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	v.shows("READY")
	f.ok(v.a.Input(p))
	v.shows(fmt.Sprintf("%x", sha256.Sum256(p)))
}

func testOutputLarge(f *fixture) {
	n := short(20, 50) << 20
	s := f.start(f.spec(program(f, "stream", strconv.Itoa(n), "1")...))
	st := f.ended(s)
	want := onTerminal(stream(n, 1))
	if st.Exit.Code != 0 || st.Exit.Offset != uint64(len(want)) {
		f.Errorf("exit %+v, want code 0 at offset %d", st.Exit, len(want))
	}
	f.same(f.output(s, 0), want)
}

// same compares long outputs and shows where they differ.
func (f *fixture) same(got, want []byte) {
	f.Helper()
	if bytes.Equal(got, want) {
		return
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	f.Errorf("output of %d bytes, want %d, differs from byte %d: %.60q, want %.60q",
		len(got), len(want), i, got[i:], want[i:])
}

func testOutputTail(f *fixture) {
	const n = 20 << 10
	for i := range 20 {
		s := f.start(f.spec(program(f, "stream", strconv.Itoa(n), strconv.Itoa(i))...))
		f.ended(s)
		f.same(f.output(s, 0), onTerminal(stream(n, uint64(i))))
	}
}

func testOutputOffsets(f *fixture) {
	s := f.sh("echo 0123456789")
	f.ended(s)
	if got := string(f.output(s, 4)); got != "456789\r\n" {
		f.Errorf("output from 4 is %q", got)
	}
	if got := string(f.output(s, 12)); got != "" {
		f.Errorf("output from the head is %q", got)
	}
	_, err := s.Output(f.ctx, 13)
	f.is("output from beyond the head", err, terminal.ErrRange)
}

func testAttachEnded(f *fixture) {
	s := f.sh("echo LAST; exit 7")
	f.ended(s)
	zero := uint64(0)
	for _, o := range []terminal.AttachOptions{
		{Mode: terminal.ModeAttach}, {Mode: terminal.ModeWatch}, {Mode: terminal.ModeWatch, From: &zero},
	} {
		v := f.attach(s, o)
		if e := v.ends(terminal.MessageExit).Exit; e.Code != 7 {
			f.Errorf("%+v: exit %+v, want code 7", o, e)
		}
		v.shows("LAST")
	}
}

func testCapture(f *fixture) {
	s := f.sh(`for i in $(seq 40); do echo "line $i."; done; printf '\033]2;a title\007\033[1;31mred\033[m plain'; read x`)
	f.printed(s, "plain")
	for _, state := range []terminal.State{terminal.StateRunning, terminal.StateExited} {
		f.eventually("title", func() bool {
			c, err := s.Capture(f.ctx, terminal.CaptureOptions{Format: terminal.FormatText})
			f.ok(err)
			return c.Title == "a title" && strings.Contains(string(c.Data), "red plain")
		})
		f.captures(s, state)
		if state == terminal.StateRunning {
			f.ok(s.Input(f.ctx, []byte("\n")))
			f.ended(s)
		}
	}
	if _, err := s.Capture(f.ctx, terminal.CaptureOptions{Format: "png"}); err == nil {
		f.Error("capture of an unknown format")
	}
}

// What a program says of its progress is there as long as it says so.
func testProgress(f *fixture) {
	s := f.sh(`printf '\033]9;4;1;40\007'; read x; printf '\033]9;4;1;41\007\033]9;4;3\007'; read x; printf '\033]9;4;0\007'; read x; printf '\033]9;4;3\007'`)
	for _, want := range []string{"1;40", "3;0", ""} {
		f.eventually("progress "+want, func() bool {
			status, err := s.Status(f.ctx)
			f.ok(err)
			return status.Progress == want
		})
		f.ok(s.Input(f.ctx, []byte("\n")))
	}
	f.ended(s) // with a progress
	if status, err := s.Status(f.ctx); err != nil || status.Progress != "" {
		f.Errorf("a session that has ended has the progress %q (%v)", status.Progress, err)
	}
}

func (f *fixture) captures(s terminal.Session, state terminal.State) {
	f.Helper()
	for _, tt := range []struct {
		o        terminal.CaptureOptions
		has, not string
	}{
		{terminal.CaptureOptions{Format: terminal.FormatText}, "line 40.\nred plain", "line 1."},
		{terminal.CaptureOptions{Format: terminal.FormatText, Scrollback: true}, "line 1.\nline 2.\n", "\x1b"},
		{terminal.CaptureOptions{Format: terminal.FormatANSI}, "\x1b[", "line 1."},
		{terminal.CaptureOptions{Format: terminal.FormatJSON}, `"red"`, "line 1."},
	} {
		c, err := s.Capture(f.ctx, tt.o)
		f.ok(err)
		if !strings.Contains(string(c.Data), tt.has) || strings.Contains(string(c.Data), tt.not) {
			f.Errorf("%s, %+v: want %q and not %q in\n%s", state, tt.o, tt.has, tt.not, c.Data)
		}
		if c.Size.Cols != 80 || c.Size.Rows != 24 {
			f.Errorf("%s, %+v: size %+v", state, tt.o, c.Size)
		}
		if tt.o.Format == terminal.FormatJSON && !json.Valid(c.Data) {
			f.Errorf("%s: not JSON: %s", state, c.Data)
		}
	}
}

// testClipboard: a session's policy is told to each viewer, also by a backend
// that finds the session, and after its end.
func testClipboard(f *fixture) {
	for _, policy := range []terminal.Clipboard{"", terminal.ClipboardAsk, terminal.ClipboardDeny} {
		spec := f.spec("/bin/sh", "-c", "echo READY; read x")
		spec.Clipboard = policy
		f.start(spec)
		s := f.h.New().Session(spec.ID)
		told := func(when string) {
			f.Helper()
			status, err := s.Status(f.ctx)
			f.ok(err)
			if status.Clipboard != policy {
				f.Errorf("%s, status: %q, want %q", when, status.Clipboard, policy)
			}
			zero := uint64(0)
			for _, o := range []terminal.AttachOptions{
				{Mode: terminal.ModeAttach, Size: terminal.DefaultSize}, {Mode: terminal.ModeWatch}, {Mode: terminal.ModeWatch, From: &zero},
			} {
				v := f.attach(s, o)
				if got := v.a.Hello().Clipboard; got != policy {
					f.Errorf("%s, %s: %q, want %q", when, o.Mode, got, policy)
				}
				v.close()
			}
		}
		told("running")
		f.ok(s.Input(f.ctx, []byte("\r")))
		f.ended(s)
		told("ended")
	}
}
