package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/testenv"
	"middleman/terminal"
)

// reader follows a session on a runtime through the hub, and checks each byte.
type reader struct {
	t      *testing.T
	hub    *machine
	id     string
	offset uint64
	sum    hash.Hash
	joins  int
}

// session reaches the session through the hub.
func (r *reader) session() terminal.Session {
	var serve api.Serve
	if err := json.Unmarshal(must(os.ReadFile(filepath.Join(r.hub.home, "run", "serve.json"))), &serve); err != nil {
		r.t.Fatal(err)
	}
	return client.New(serve.Socket).On("box").Session(r.id)
}

// until reads up to an offset, or to the exit, which it returns. When a link
// breaks, it comes back with the offset that it has.
func (r *reader) until(offset uint64) *terminal.Exit {
	r.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for time.Now().Before(deadline) {
		from := r.offset
		a, err := r.session().Attach(r.t.Context(), terminal.AttachOptions{Mode: terminal.ModeAttach, From: &from})
		if errors.Is(err, terminal.ErrUnreachable) {
			if serverPID(r.hub.home) == 0 {
				r.hub.run("runtime", "list") // starts the hub again
			}
			continue
		}
		if err != nil {
			r.t.Fatalf("attach at %d: %v", r.offset, err)
		}
		r.joins++
		exit, err := r.read(a, offset)
		a.Close()
		if exit != nil || err == nil {
			return exit
		}
		if !errors.Is(err, terminal.ErrUnreachable) {
			r.t.Fatalf("at %d: %v", r.offset, err)
		}
	}
	r.t.Fatalf("no way to offset %d from %d", offset, r.offset)
	return nil
}

func (r *reader) read(a terminal.Attachment, offset uint64) (*terminal.Exit, error) {
	for r.offset < offset {
		m, err := a.Receive()
		if err != nil {
			return nil, err
		}
		switch m.Kind {
		case terminal.MessageExit:
			return &m.Exit, nil
		case terminal.MessageOutput:
			if m.Offset != r.offset {
				r.t.Fatalf("output at offset %d, have %d", m.Offset, r.offset)
			}
			r.sum.Write(m.Data)
			r.offset += uint64(len(m.Data))
		case terminal.MessageSnapshot:
			r.t.Fatalf("a snapshot at %d, with all output kept", r.offset)
		}
	}
	return nil, nil
}

// killSSH ends the ssh programs of a hub with SIGKILL, once there is one: what has
// come through an earlier one may be read while the hub starts the next.
func killSSH(t *testing.T, hub *machine) {
	t.Helper()
	if err := waitFor("an ssh of the hub", patience, func() (found bool) {
		for pid, line := range processesOf(hub.home) {
			if strings.HasPrefix(line, "/usr/bin/ssh ") {
				found = true
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
					t.Error(err)
				}
			}
		}
		return found
	}); err != nil {
		t.Error(err)
	}
}

// A terminal on another machine, through a line that is cut, stalls, delays and
// passes few bytes at a time, and through kills of the hub, the other server and
// ssh: each byte arrives once. MIDDLEMAN_LONG=1 makes it 50 MB.
func TestRuntimeTerminalSurvivesCuts(t *testing.T) {
	total := uint64(3 << 20)
	if os.Getenv("MIDDLEMAN_LONG") == "1" {
		total = 50 << 20
	}
	for _, backend := range []string{"pty-owner", "tmux"} {
		t.Run(backend, func(t *testing.T) {
			if backend == "tmux" {
				testenv.RequireTool(t, "tmux")
			}
			eachWay(t, func(t *testing.T, hub *machine, f *far) {
				id := hub.run("new", "w", "-d", "--json", "--mode", "directory", "-C", "box:/tmp", "--backend", backend, "--keep-output", "0", "--cols", "80", "--rows", "24", "--",
					must(exec.LookPath("program")), "stream", "5", fmt.Sprint(total), fmt.Sprint(total/8))
				id = jsonField(t, id, "session", "id")
				r := &reader{t: t, hub: hub, id: id, sum: sha256.New()}
				r.until(total / 8)
				hub.run("send", "box:w", "x")
				for i, harm := range []func(){
					f.proxy.cut,
					func() { f.proxy.set(func() { f.proxy.small = true }) },
					func() {
						f.proxy.set(func() { f.proxy.small, f.proxy.delay = false, 80*time.Millisecond })
						f.proxy.cut()
					},
					func() { f.proxy.set(func() { f.proxy.delay = 0 }); hub.killServer() },
					func() { f.killServer(); f.restart() },
					func() { f.harmSSH(hub) },
					func() {
						f.proxy.set(func() { f.proxy.stall = true })
						time.AfterFunc(300*time.Millisecond, func() { f.proxy.set(func() { f.proxy.stall = false }) })
					},
				} {
					at := total/8 + uint64(i+1)*total/10
					if f.proxy.isSmall() {
						at = r.offset + 64<<10 // a few bytes at a time take long
					}
					r.until(at)
					harm()
				}
				exit := r.until(^uint64(0))
				want := sha256.New()
				must(io.CopyN(want, newRandomText(5), int64(total)))
				if exit.Offset != total || r.offset != total || string(r.sum.Sum(nil)) != string(want.Sum(nil)) {
					t.Errorf("%d of %d bytes in %d joins, exit at %d, and they differ", r.offset, total, r.joins, exit.Offset)
				}
				if r.joins < 5 {
					t.Errorf("%d joins: the links were not broken", r.joins)
				}
			})
		})
	}
}

// A viewer of a session that prints nothing is told when the way to its machine breaks,
// and comes back: nothing is in flight then, and a connection ends between two messages.
func TestRuntimeViewerOfASilentSessionComesBack(t *testing.T) {
	eachWay(t, func(t *testing.T, hub *machine, f *far) {
		id := jsonField(t, hub.run("new", "w", "-d", "--json", "--mode", "directory", "-C", "box:/tmp", "--", "cat"), "session", "id")
		r := &reader{t: t, hub: hub, id: id, sum: sha256.New()}
		for i, harm := range []func(){
			func() { f.killServer(); f.restart() },
			func() { f.harmSSH(hub) },
		} {
			hub.run("send", "box:w", fmt.Sprintf("line %d\n", i))
			at := uint64(i+1) * uint64(len("line 0\r\nline 0\r\n"))
			r.until(at)
			a, err := r.session().Attach(t.Context(), terminal.AttachOptions{Mode: terminal.ModeAttach, From: &at})
			if err != nil {
				t.Fatal(err)
			}
			harm()
			late := time.AfterFunc(patience, func() { a.Close() })
			if _, err := r.read(a, at+1); !errors.Is(err, terminal.ErrUnreachable) || !late.Stop() {
				t.Errorf("harm %d: the viewer is told %v", i, err)
			}
			a.Close()
		}
	})
}

// A host's key that ssh does not know, and one that has changed, are told apart.
func TestRuntimeHostKeys(t *testing.T) {
	hub := newMachine(t)
	f := hub.add("ssh")
	known := filepath.Join(f.home, "user", "known")
	killSSH(t, hub)
	for _, tt := range []struct{ keys, want string }{
		{"", "ssh does not know the host's key"},
		{"* " + string(must(os.ReadFile(filepath.Join(f.home, "user", "key.pub")))), "the host's key is not the one that ssh knows"},
	} {
		do(os.WriteFile(known, []byte(tt.keys), 0o600))
		if _, errs, code := hub.try("runtime", "check", "box"); code != 1 || !strings.Contains(errs, tt.want) {
			t.Errorf("%d %s, want %q", code, errs, tt.want)
		}
	}
}

// harmSSH kills ssh, or cuts the line where there is none.
func (f *far) harmSSH(hub *machine) {
	if f.kind == "ssh" {
		killSSH(f.t, hub)
		return
	}
	f.proxy.cut()
}

func (p *proxy) isSmall() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.small
}

// A viewer that does not read stops the whole way, and not the program; and
// nothing of that makes the hub or the runtime grow.
func TestRuntimeTerminalHoldsBack(t *testing.T) {
	eachWay(t, func(t *testing.T, hub *machine, f *far) {
		const total = 24 << 20
		id := jsonField(t, hub.run("new", "w", "-d", "--json", "--mode", "directory", "-C", "box:/tmp", "--keep-output", "0", "--",
			must(exec.LookPath("program")), "stream", "5", fmt.Sprint(total), "1000"), "session", "id")
		r := &reader{t: t, hub: hub, id: id, sum: sha256.New()}
		from := uint64(0)
		a, err := r.session().Attach(t.Context(), terminal.AttachOptions{Mode: terminal.ModeWatch, From: &from})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if _, err := r.read(a, 1000); err != nil {
			t.Fatal(err)
		}
		hub.run("send", "box:w", "x")
		testenv.Eventually(t, 3*patience, "the program has ended", func() bool { // a wait would read the output too
			status, err := r.session().Status(t.Context())
			return err == nil && status.Exit != nil
		})
		f.proxy.mu.Lock()
		passed := f.proxy.bytes
		f.proxy.mu.Unlock()
		if passed > 16<<20 { // what waits on the way, in buffers of the system too
			t.Errorf("%d bytes went to a viewer that reads nothing", passed)
		}
		exit, err := r.read(a, ^uint64(0))
		if err != nil || exit == nil || r.offset != total {
			t.Errorf("then: %d bytes, %v, %v", r.offset, exit, err)
		}
	})
}

// A hub takes a terminal over from its own broken connection, and from nobody
// else.
func TestRuntimeTakesOverFromItselfAlone(t *testing.T) {
	eachWay(t, func(t *testing.T, hub *machine, f *far) {
		id := jsonField(t, hub.run("new", "w", "-d", "--json", "--mode", "directory", "-C", "box:/tmp", "--", "cat"), "session", "id")
		through := (&reader{t: t, hub: hub, id: id}).session()
		first, err := through.Attach(t.Context(), terminal.AttachOptions{Mode: terminal.ModeAttach})
		if err != nil {
			t.Fatal(err)
		}
		f.proxy.freeze() // the runtime does not see the end
		if f.kind == "ssh" {
			killSSH(t, hub)
		}
		first.Close()
		again := func() (terminal.Attachment, error) {
			var a terminal.Attachment
			err := terminal.ErrUnreachable
			for deadline := time.Now().Add(2 * patience); errors.Is(err, terminal.ErrUnreachable) && time.Now().Before(deadline); {
				a, err = through.Attach(context.Background(), terminal.AttachOptions{Mode: terminal.ModeAttach})
			}
			return a, err
		}
		second, err := again()
		if err != nil {
			t.Fatalf("after a broken connection of its own: %v", err)
		}
		defer second.Close()
		if _, err := again(); err == nil {
			t.Error("it takes over from a viewer that is there")
		} else if _, busy := errors.AsType[*terminal.BusyError](err); !busy {
			t.Errorf("a second writer: %v", err)
		}
	})
}
