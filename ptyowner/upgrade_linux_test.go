package ptyowner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/ptyowner"
	"middleman/ptyowner/wire"
	"middleman/terminal"
	"middleman/terminal/vt"
)

// otherImage is a copy of the test binary: another executable of this build.
func otherImage(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "middleman-next")
	if err := os.Link(self, path); err == nil {
		return path
	}
	data, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(path, data, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func upgradeOwner(t *testing.T, b *ptyowner.Backend, id, image string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	got, err := b.Upgrade(ctx, id, image)
	if err != nil {
		t.Fatal(err)
	}
	if got.From != "" && got.From != "test" || got.To != "test" {
		t.Errorf("upgrade tells of %+v", got)
	}
}

// executed is the file that an owner executes, "" where only root may see that.
func executed(t *testing.T, pid int) string {
	t.Helper()
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if hidden(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// collect receives until the exit and returns the bytes from an offset on.
func collect(a terminal.Attachment, from uint64) (out []byte, exit *terminal.Exit, err error) {
	for {
		m, err := a.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return out, exit, nil
		case err != nil:
			return out, exit, err
		case m.Kind == terminal.MessageSnapshot || m.Kind == terminal.MessageDetached:
			return out, exit, fmt.Errorf("message of kind %d at %d", m.Kind, m.Offset)
		case m.Kind == terminal.MessageOutput:
			if m.Offset != from+uint64(len(out)) {
				return out, exit, fmt.Errorf("output at %d, want %d", m.Offset, from+uint64(len(out)))
			}
			out = append(out, m.Data...)
		case m.Kind == terminal.MessageExit:
			exit = &m.Exit
		}
	}
}

// While a program writes and is typed at, its owner becomes another image
// again and again: pid, program, token, connections and offsets stay, every
// byte both ways arrives once, and the exit is told.
func TestUpgradeIsNotNoticed(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	const lines = 60000
	s := spec("stty raw -echo; echo GO; i=0; while [ $i -lt " + strconv.Itoa(lines) + " ]; do echo line $i; i=$((i+1)); done; echo READY; head -c 300000 | md5sum; exit 7")
	s.JournalBytes = 0
	status := start(t, b, s, nil)
	session := b.Session(s.ID)
	owner, before := ownerPID(t, data, s.ID), record(t, filepath.Join(data, "sessions", s.ID))

	attach := func(mode terminal.Mode) terminal.Attachment {
		a, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: mode, From: new(uint64), Client: "test"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		return a
	}
	writer := attach(terminal.ModeAttach)
	quiet, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeWatch, From: new(uint64), NoOutput: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { quiet.Close() })
	var wg sync.WaitGroup
	wg.Go(func() {
		if out, exit, err := collect(quiet, 0); err != nil || len(out) > 0 || exit == nil {
			t.Errorf("who wants no output got %d bytes, exit %v, %v", len(out), exit, err)
		}
	})
	outputs, exits := make([][]byte, 3), make([]*terminal.Exit, 3)
	for i, a := range []terminal.Attachment{writer, attach(terminal.ModeWatch), attach(terminal.ModeWatch)} {
		wg.Go(func() {
			var err error
			if outputs[i], exits[i], err = collect(a, 0); err != nil {
				t.Errorf("viewer %d: %v", i, err)
			}
		})
	}
	typed := bytes.Repeat([]byte("0123456789abcdef\n"), 300000/17+1)[:300000]
	if err := waitText(session, "GO\n"); err != nil { // the terminal echoes no more
		t.Fatal(err)
	}
	const held = 17 // the program waits for these until all upgrades are done
	sent := make(chan struct{})
	wg.Go(func() { // it reads nothing until it has written all
		defer close(sent)
		if err := writer.Input(typed[:len(typed)-held]); err != nil {
			t.Errorf("type: %v", err)
		}
	})
	images := []string{otherImage(t), otherImage(t)}
	upgrades := 8
	if testing.Short() {
		upgrades = 3
	}
	for i := range upgrades {
		upgradeOwner(t, b, s.ID, images[i%2])
		if got := executed(t, owner); got != "" && got != images[i%2] {
			t.Errorf("after upgrade %d the owner executes %s", i, got)
		}
		if now, err := session.Status(context.Background()); err != nil || now.PID != status.PID || now.Writer == nil {
			t.Errorf("after upgrade %d: %+v, %v", i, now, err)
		}
	}
	<-sent
	if err := writer.Input(typed[len(typed)-held:]); err != nil {
		t.Errorf("type: %v", err)
	}
	wg.Wait()
	after := record(t, filepath.Join(data, "sessions", s.ID))
	for _, key := range []string{"owner_pid", "owner_start", "token", "socket", "created"} {
		if before[key] != after[key] {
			t.Errorf("%s was %v, is %v", key, before[key], after[key])
		}
	}
	sum, err := exec.Command("sh", "-c", "head -c 300000 | md5sum").Output()
	if err == nil {
		cmd := exec.Command("md5sum")
		cmd.Stdin = bytes.NewReader(typed)
		sum, err = cmd.Output()
	}
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("GO\n")
	for i := range lines {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	want.WriteString("READY\n")
	want.Write(sum)
	for i := range outputs {
		if string(outputs[i]) != want.String() {
			t.Errorf("viewer %d got %d bytes, want %d: %.100q", i, len(outputs[i]), want.Len(), tail(outputs[i], 100))
		}
		if exits[i] == nil || exits[i].Code != 7 {
			t.Errorf("viewer %d was told of exit %+v, want 7", i, exits[i])
		}
	}
}

func tail(p []byte, n int) []byte { return p[max(0, len(p)-n):] }

// What waits while the owner becomes another image is answered after: a wait,
// an input that the program does not read yet, a half-sent frame.
func TestUpgradeKeepsWhatWaits(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	fifo := filepath.Join(t.TempDir(), "go")
	if err := exec.Command("mkfifo", fifo).Run(); err != nil {
		t.Fatal(err)
	}
	s := spec("stty raw -echo; echo READY; read x <" + fifo + "; head -c 200000 | md5sum; exit 3")
	start(t, b, s, nil)
	session := b.Session(s.ID)
	if err := waitText(session, "READY"); err != nil {
		t.Fatal(err)
	}
	waiter := dialOwner(t, data, s.ID)
	waiter.hello(wire.Hello{Mode: wire.ModeControl})
	waiter.welcomed("waiter")
	waiter.send(wire.AppendControl(nil, wire.TypeRequest, wire.Request{ID: 17, Verb: wire.VerbWait}))

	slow := dialOwner(t, data, s.ID)
	slow.hello(wire.Hello{Mode: wire.ModeControl})
	slow.welcomed("half a frame")
	frame := wire.AppendControl(nil, wire.TypeRequest, wire.Request{ID: 18, Verb: wire.VerbStatus})
	slow.send(frame[:7])

	typed := make(chan error, 1)
	go func() { typed <- session.Input(context.Background(), bytes.Repeat([]byte("x"), 200000)) }()
	image := otherImage(t)
	for range 3 {
		upgradeOwner(t, b, s.ID, image)
	}
	slow.send(frame[7:])
	if typ, payload, err := slow.r.Read(wire.MaxFrame); err != nil || typ != wire.TypeReply || !bytes.Contains(payload, []byte(`"id":18`)) {
		t.Errorf("half a frame: type %d %s %v", typ, payload, err)
	}
	if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-typed; err != nil {
		t.Errorf("input: %v", err)
	}
	typ, payload, err := waiter.r.Read(wire.MaxFrame)
	if err != nil || typ != wire.TypeReply || !bytes.Contains(payload, []byte(`"id":17`)) || !bytes.Contains(payload, []byte(`"code":3`)) {
		t.Errorf("wait: type %d %s %v, want exit code 3", typ, payload, err)
	}
	out, err := session.Output(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	text, _ := io.ReadAll(out)
	cmd := exec.Command("md5sum")
	cmd.Stdin = strings.NewReader(strings.Repeat("x", 200000))
	sum, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(text, sum) {
		t.Errorf("the program read something else than what was typed: %q", text)
	}
}

// The screen comes along whole: modes, title, scrollback, an escape sequence
// in its middle; and the owner answers queries after as before.
func TestUpgradeKeepsTheScreen(t *testing.T) {
	_, newBackend := newBackends(t)
	b := newBackend()
	s := spec(`stty raw -echo; i=0; while [ $i -lt 100 ]; do printf 'scrolled %s\r\n' $i; i=$((i+1)); done
printf '\033]2;a title\007\033]9;4;1;40\007\033[?2004h\033[?1049h\033[5;7H\033[31mred\033[38;5'; echo READY >&2; dd bs=1 count=1 2>/dev/null
printf ';9mmore\033[6n'; head -c 6 >/dev/null; printf 'ANSWERED'; exec sleep 1000`)
	start(t, b, s, nil)
	session := b.Session(s.ID)
	capture := func() string {
		var all strings.Builder
		for _, format := range []terminal.CaptureFormat{terminal.FormatANSI, terminal.FormatJSON} {
			c, err := session.Capture(context.Background(), terminal.CaptureOptions{Format: format, Scrollback: true})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&all, "%d %v %q\n%s\n", c.Offset, c.Size, c.Title, c.Data)
		}
		status, err := session.Status(context.Background())
		if err != nil || status.Progress != "1;40" {
			t.Errorf("progress %q (%v)", status.Progress, err)
		}
		return all.String()
	}
	if err := waitText(session, "38;5READY"); err != nil {
		t.Fatal(err)
	}
	before := capture()
	upgradeOwner(t, b, s.ID, otherImage(t))
	if after := capture(); after != before {
		t.Errorf("the screen was\n%s\nand is\n%s", before, after)
	}
	if err := session.Input(context.Background(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := waitText(session, "ANSWERED"); err != nil {
		t.Fatal(err)
	}
	out, err := session.Output(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	all, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	want := vt.New(vt.Options{Cols: 80, Rows: 24})
	want.Write(all)
	c, err := session.Capture(context.Background(), terminal.CaptureOptions{Format: terminal.FormatANSI, Scrollback: true})
	if err != nil || string(c.Data) != want.ANSI(vt.TextOptions{Scrollback: true}) || c.Title != "a title" {
		t.Errorf("the screen is\n%s\nwant\n%s (%v)", c.Data, want.ANSI(vt.TextOptions{Scrollback: true}), err)
	}
}

// An executable that cannot take over changes nothing: the owner goes on, and
// the error says what was wrong with it.
func TestUpgradeRefused(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("stty raw -echo; echo READY; exec cat")
	status := start(t, b, s, nil)
	session := b.Session(s.ID)
	if err := waitText(session, "READY"); err != nil {
		t.Fatal(err)
	}
	owner := ownerPID(t, data, s.ID)
	image := executed(t, owner)
	a, err := session.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct{ name, path, want string }{
		{"relative", "bin/middleman", "not an absolute path"},
		{"missing", filepath.Join(dir, "missing"), "no such file"},
		{"directory", dir, "not an executable file"},
		{"no permission", write("plain", "x", 0o600), "not an executable file"},
		{"everybody's", write("everybody", "#!/bin/sh\n", 0o777), "writable by others"},
		{"garbage", write("garbage", "\x7fELF garbage", 0o700), "ask"},
		{"another program", "/bin/true", "not middleman"},
		{"one that fails", "/bin/false", "ask /bin/false"},
		{"one that cannot", write("older", "#!/bin/sh\necho '{\"build\":\"v0\",\"handover\":[]}'\n", 0o700), "build v0"},
		{"one that does not understand", write("other", "#!/bin/sh\ncase $2 in --describe) echo '{\"build\":\"v9\",\"handover\":[1,2]}';; *) echo 'what is this?' >&2; exit 1;; esac\n", 0o700), "what is this?"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_, err := b.Upgrade(ctx, s.ID, test.path)
		cancel()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if now, err := session.Status(context.Background()); err != nil || now.State != terminal.StateRunning || now.PID != status.PID {
			t.Errorf("%s: status %+v, %v", test.name, now, err)
		}
		if err := a.Input([]byte(test.name)); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		for got := ""; !strings.Contains(got, test.name); {
			m, err := a.Receive()
			if err != nil {
				t.Fatalf("%s: the attached viewer: %v", test.name, err)
			}
			got += string(m.Data)
		}
	}
	if got := executed(t, owner); got != image {
		t.Errorf("the owner executes %s", got)
	}
	if err := session.Stop(context.Background(), -1); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Upgrade(context.Background(), s.ID, image); err == nil {
		t.Error("an ended session's owner was upgraded")
	}
}

// Who comes while the owner becomes another image is served by it.
func TestUpgradeServesWhoComes(t *testing.T) {
	_, newBackend := newBackends(t)
	b := newBackend()
	s := spec("stty raw -echo; echo READY; exec cat")
	start(t, b, s, nil)
	session := b.Session(s.ID)
	if err := waitText(session, "READY"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	ctx := context.Background()
	for name, ask := range map[string]func() error{
		"status": func() error { _, err := session.Status(ctx); return err },
		"input":  func() error { return session.Input(ctx, []byte("x")) },
		"capture": func() error {
			_, err := session.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatText})
			return err
		},
		"attach": func() error {
			a, err := session.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
			if err != nil {
				return err
			}
			defer a.Close()
			_, err = a.Receive()
			return err
		},
		"watch": func() error {
			a, err := session.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeWatch, From: new(uint64)})
			if err != nil {
				return err
			}
			defer a.Close()
			_, err = a.Receive()
			return err
		},
	} {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if err := ask(); err != nil {
					t.Errorf("%s, time %d: %v", name, n, err)
					return
				}
			}
		})
	}
	image := otherImage(t)
	upgrades := 10
	if testing.Short() {
		upgrades = 3
	}
	for range upgrades {
		upgradeOwner(t, b, s.ID, image)
	}
	close(done)
	wg.Wait()
}
