//go:build unix

package tmux

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"middleman/internal/testenv"
	"middleman/terminal/host"
)

// listen listens where the processes of a pane come.
func listen(t *testing.T) *net.UnixListener {
	t.Helper()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(testenv.ShortDir(t), "host"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// comes is a process in a pane that says something, with a descriptor or not.
func comes(t *testing.T, ln *net.UnixListener, says string, file bool) {
	t.Helper()
	conn, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	switch {
	case file:
		err = sendFile(conn.(*net.UnixConn), json.RawMessage(says), os.Stderr)
	case says == "":
		err = conn.Close()
	default:
		_, err = io.WriteString(conn, says+"\n")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Launcher and pipe may come in either order; what else comes is refused.
func TestMeet(t *testing.T) {
	type process struct {
		says string
		file bool
	}
	pane := process{`{"role":"pane","pid":7,"pane":"%3","server":5}`, true}
	pipe := process{`{"role":"pipe"}`, true}
	for _, tt := range []struct {
		name string
		come []process
		want string // of the error
	}{
		{"pane first", []process{pane, pipe}, ""},
		{"pipe first", []process{pipe, pane}, ""},
		{"two panes", []process{pane, pane}, `second "pane"`},
		{"the pane of a server that has ended", []process{{`{"role":"pane","pid":6,"pane":"%0","server":4}`, true}, pane, pipe}, ""},
		{"its namesake on a server that has ended", []process{{`{"role":"pane","pid":6,"pane":"%3","server":4}`, true}, pane, pipe}, ""},
		{"two pipes", []process{pipe, pipe}, `second "pipe"`},
		{"another", []process{{`{"role":"x"}`, true}}, `second "x"`},
		{"without a descriptor", []process{{pane.says, false}}, "0 descriptors"},
		{"garbage", []process{{"garbage", false}}, "invalid character"},
		{"nothing", []process{{"", false}}, "EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ln := listen(t)
			for _, p := range tt.come {
				comes(t, ln, p.says, p.file)
			}
			s := &starter{b: New(Options{}), pane: paneID{"%3", 5}}
			got, err := s.meet(context.Background(), ln)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Pane != "%3" || got.Launcher != 7 || got.Server != 5 || got.tty == nil || got.pipe == nil || len(got.Mark) < 20 {
				t.Errorf("%+v", got.paneState)
			}
			if got.tty.Close() != nil || got.pipe.Close() != nil {
				t.Error("a descriptor was closed")
			}
		})
	}
}

// What a launcher says of a program that it could not start is the error.
func TestLaunch(t *testing.T) {
	for says, want := range map[string]string{
		`{"started":9}`:                   "",
		`{"failed":"no room","errno":28}`: "no space left on device",
		`{"failed":"host.lock is held"}`:  "host.lock is held",
		"garbage":                         "invalid character",
	} {
		pane, _, launcher := newTerminal(t)
		if _, err := io.WriteString(launcher, says+"\n"); err != nil {
			t.Fatal(err)
		}
		err := (&starter{p: host.Program{Dir: t.TempDir()}}).launch(pane)
		if want == "" && (err != nil || pane.Program != 9) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", says, err, want)
		}
	}
	pane, _, launcher := newTerminal(t)
	launcher.Close()
	if err := (&starter{}).launch(pane); err == nil {
		t.Error("nobody has started it")
	}
}

// An image that takes over has what the one before had, also what the launcher
// has said and nobody has read.
func TestExportAndResume(t *testing.T) {
	pane, pipe, launcher := newTerminal(t)
	pane.Pane, pane.Server, pane.Launcher, pane.Program = "%4", 1, 2, 3
	if _, err := io.WriteString(launcher, `{"ended":1}`+"\n"+`{"ended":2}`+"\n"+`{"ended":`); err != nil {
		t.Fatal(err)
	}
	var n news
	if err := pane.news.next(&n); err != nil || n.Ended != 1 {
		t.Fatalf("%+v, %v", n, err)
	}
	fds, state, err := pane.Export()
	if err != nil {
		t.Fatal(err)
	}
	resumed, err := Host{}.Resume(fds, state)
	if err != nil {
		t.Fatal(err)
	}
	defer resumed.Close()
	next := resumed.(*paneTerminal)
	if next.Pane != "%4" || next.Server != 1 || next.Launcher != 2 || next.Program != 3 || string(next.Mark) != testMark {
		t.Errorf("%+v", next.paneState)
	}
	if _, err := io.WriteString(launcher, "3}\n"); err != nil {
		t.Fatal(err)
	}
	for want := 2; want <= 3; want++ {
		if err := next.news.next(&n); err != nil || n.Ended != want {
			t.Errorf("%+v, %v, want %d", n, err, want)
		}
	}
	if _, err := io.WriteString(pipe, "out"); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 100)
	if n, err := next.Read(p); string(p[:n]) != "out" || err != nil {
		t.Errorf("read %q, %v", p[:n], err)
	}
	if err := next.conn.Close(); err != nil {
		t.Error(err)
	}
}

// A state that is none is refused.
func TestResumeRefuses(t *testing.T) {
	pane, _, _ := newTerminal(t)
	fds, state, err := pane.Export()
	if err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"no state":        func() error { _, err := Host{}.Resume(fds, []byte("{")); return err },
		"two descriptors": func() error { _, err := Host{}.Resume(fds[:2], state); return err },
		"no connection":   func() error { _, err := Host{}.Resume([]uintptr{fds[1], fds[1], fds[2]}, state); return err },
		"none open":       func() error { _, err := Host{}.Resume([]uintptr{1 << 20, fds[1], fds[2]}, state); return err },
	} {
		if err := do(); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// What fails leaves no descriptor open: a launcher tries again until it has an
// owner.
func TestFailuresLeaveNoDescriptorOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files that nothing holds
	open := func() int {
		list, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	pane, _, _ := newTerminal(t)
	fds, _, err := pane.Export()
	if err != nil {
		t.Fatal(err)
	}
	gone := &paneProcess{dir: filepath.Join(t.TempDir(), "none")}
	for name, try := range map[string]func() error{
		"no connection": func() error { return new(paneTerminal).take([]uintptr{fds[1], fds[1], fds[2]}) },
		"no terminal":   func() error { return new(paneTerminal).take([]uintptr{fds[0], fds[1], 1 << 20}) },
		"no directory":  func() error { return gone.runOwner(nil) },
	} {
		before := open()
		for range 10 {
			if try() == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if after := open(); after != before {
			t.Errorf("%s: %d descriptors are open, %d were", name, after, before)
		}
	}
}

// The program of a failed start is killed whether it leads its process group or,
// as outside Linux, is in that of its parent.
func TestKillProgram(t *testing.T) {
	for name, script := range map[string]string{"leads its group": "echo $$; exec sleep 1000", "is in its parent's group": "sleep 1000 & echo $!; wait"} {
		cmd := exec.Command("sh", "-c", script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var program int
		if _, err := fmt.Fscanln(out, &program); err != nil {
			t.Fatal(err)
		}
		killProgram(program)
		// The pipe ends when no process of the group is left.
		if rest, err := io.ReadAll(out); len(rest) > 0 || err != nil {
			t.Errorf("%s: %q, %v", name, rest, err)
		}
		if err := cmd.Wait(); err == nil {
			t.Errorf("%s: not killed", name)
		}
	}
}

// What tmux has in the environment of a pane.
func TestInPane(t *testing.T) {
	for _, tt := range []struct {
		tmux   string
		server int
	}{
		{"/tmp/tmux.sock,123,0", 123}, {"/a,b/tmux.sock,123,4", 123}, {"", 0}, {"x", 0}, {"/x,y,z", 0},
	} {
		t.Setenv("TMUX", tt.tmux)
		t.Setenv("TMUX_PANE", "%7")
		if pane, server := inPane(); pane != "%7" || server != tt.server {
			t.Errorf("%q: %s, %d, want %d", tt.tmux, pane, server, tt.server)
		}
	}
}

// The lines that type: each byte as it is, in lines that are written at once.
func TestTypedLines(t *testing.T) {
	in := &input{server: inputServer{Paste: "-dr"}}
	for _, tt := range []struct{ got, want string }{
		{string(appendKeys(nil, "%3", []byte("\x00a\xff"))), "if -F -t %3 '#{pane_in_mode}' 'send -X -t %3 cancel' ; send -H -t %3 00 61 ff\n"},
		{string(in.appendPaste(nil, "%3", []byte("a\"\n\xff"))), `setb -b middleman3 -- "\141\042\012\377" ; pasteb -dr -b middleman3 -t %3` + "\n"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
	worst := make([]byte, lineBytes)
	pane := fmt.Sprintf("%%%d", 1<<31)
	for name, line := range map[string][]byte{"keys": appendKeys(nil, pane, worst), "paste": in.appendPaste(nil, pane, worst)} {
		if len(line) > pipeBuf {
			t.Errorf("%s take a line of %d bytes, more than %d", name, len(line), pipeBuf)
		}
	}
}
