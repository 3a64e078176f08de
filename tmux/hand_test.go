//go:build unix

package tmux_test

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"middleman/terminal"
	"middleman/tmux"
)

// What a user does by hand in our tmux server.

// handClient is a user's own tmux client, on a terminal of its own.
type handClient struct {
	t    testing.TB
	cmd  *exec.Cmd
	pty  *os.File
	read sync.WaitGroup

	mu   sync.Mutex // guards seen
	seen []byte
}

// attachByHand attaches a user's client to a session. It is ended with the
// test.
func (p *place) attachByHand(t testing.TB, s *session, size terminal.Size) *handClient {
	t.Helper()
	command, err := p.server.ByHand(testContext(t), s.id)
	if err != nil {
		t.Fatal(err)
	}
	c := &handClient{t: t, cmd: exec.Command("sh", "-c", "exec "+command)}
	c.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TMUX=x")
	if c.pty, err = pty.StartWithSize(c.cmd, &pty.Winsize{Cols: size.Cols, Rows: size.Rows}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	c.read.Go(func() { // ends with the terminal
		buf := make([]byte, 16<<10)
		for {
			n, err := c.pty.Read(buf)
			c.mu.Lock()
			c.seen = append(c.seen, buf[:n]...)
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	return c
}

// sees waits until the client was sent a text.
func (c *handClient) sees(text string) {
	c.t.Helper()
	eventually(c.t, "by hand "+text+" is seen", func() bool { return c.saw(text) })
}

func (c *handClient) saw(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(string(c.seen), text)
}

func (c *handClient) types(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.pty, text); err != nil {
		c.t.Fatal(err)
	}
}

// kill ends the client, if it has not ended.
func (c *handClient) kill() {
	if c.cmd.ProcessState == nil {
		c.cmd.Process.Kill() // tmux may take 5 s for one whose terminal has gone
		c.wait()
	}
}

// wait waits for the client's end.
func (c *handClient) wait() {
	c.cmd.Wait() // however it ends
	c.pty.Close()
	c.read.Wait()
}

// serverPID is the tmux server's process.
func (p *place) serverPID(t testing.TB) string {
	t.Helper()
	return strings.TrimSpace(p.command(t, "display-message", "-p", "#{pid}"))
}

// TestAWindowSplitByHand: what is typed, captured and stopped is our pane.
func TestAWindowSplitByHand(t *testing.T) {
	for _, how := range []string{"split-window", "new-window"} {
		t.Run(how, func(t *testing.T) {
			p := newPlace(t)
			s := p.start(t, `echo READY; while read x; do echo "got $x."; done`)
			s.printed(t, "READY")
			theirs := strings.TrimSpace(p.command(t, how, "-t", tmux.PaneTarget(s.id), "-P", "-F", "#{pane_id}", "sh"))
			s.types(t, "sent\n")
			s.printed(t, "got sent.")
			shot, err := s.Capture(testContext(t), terminal.CaptureOptions{Format: terminal.FormatText})
			if err != nil || !strings.Contains(string(shot.Data), "got sent.") {
				t.Errorf("captured %q, %v", shot.Data, err)
			}
			a := s.attach(t, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
			if err := a.Input([]byte("typed\r")); err != nil {
				t.Fatal(err)
			}
			s.printed(t, "got typed.")
			if err := s.Stop(testContext(t), -1); err != nil {
				t.Error(err)
			}
			eventually(t, "their pane alone is left", func() bool { return p.panes(t, "#{pane_id}") == theirs+"\n" })
			p.command(t, "kill-pane", "-t", theirs)
		})
	}
}

// TestRenamedAndMovedByHand: the pane is the session's wherever it is.
func TestRenamedAndMovedByHand(t *testing.T) {
	for _, how := range [][]string{
		{"rename-session", "-t", "SESSION", "work"},
		{"move-window", "-s", "SESSION", "-t", "other:7"},
		{"break-pane", "-d", "-s", "SESSION", "-t", "other:7"},
	} {
		t.Run(how[0], func(t *testing.T) {
			p := newPlace(t)
			s := p.start(t, `echo READY; read x; echo "got $x."; exit 5`)
			s.printed(t, "READY")
			p.command(t, "new-session", "-d", "-s", "other", "sleep", "1000")
			for i, word := range how {
				how[i] = strings.Replace(word, "SESSION", tmux.PaneTarget(s.id), 1)
			}
			if how[0] == "break-pane" { // tmux before 3.2 does so only where there are two
				p.command(t, "split-window", "-d", "-t", tmux.PaneTarget(s.id), "sleep 1000")
			}
			p.command(t, how...)
			if how[0] == "break-pane" {
				p.command(t, "kill-session", "-t", "="+s.id)
			}
			a := s.attach(t, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.Size{Cols: 90, Rows: 20}, From: new(uint64)})
			received(t, a, "READY")
			eventually(t, "the writer's size", func() bool {
				return strings.Contains(p.panes(t, "#{pane_width} #{pane_height} #{"+tmux.PaneOption+"}"), "90 20 "+s.id+"\n")
			})
			s.types(t, "it\n")
			if e := s.exit(t); e.Code != 5 || !strings.HasSuffix(s.output(t), "got it.\r\n") {
				t.Errorf("exit %+v, output %q", e, s.output(t))
			}
			eventually(t, "nothing left", func() bool { return p.panes(t, "#{session_name}") == "other\n" })
			p.command(t, "kill-session", "-t", "other")
		})
	}
}

// TestKillSessionByHand: of the last session too it is the program's end, and
// not a tmux server that was killed.
func TestKillSessionByHand(t *testing.T) {
	for name, others := range map[string]int{"the last": 0, "one of two": 1} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			for range others {
				p.start(t, "read x")
			}
			s := p.start(t, `i=0; while [ $i -lt 500 ]; do echo line$i; i=$((i+1)); done; echo READY; exec sleep 1000`)
			s.printed(t, "READY")
			p.command(t, "kill-session", "-t", "="+s.id)
			if e := s.exit(t); e.Signal != int(unix.SIGHUP) || e.Offset != uint64(len(s.output(t))) {
				t.Errorf("exit %+v, want by a hangup", e)
			}
			if out := s.output(t); strings.Count(out, "line") != 500 || !strings.HasSuffix(out, "READY\r\n") {
				t.Errorf("output of %d bytes, at the end %.40q", len(out), out[max(0, len(out)-40):])
			}
			next := p.start(t, "exit 3")
			if e := next.exit(t); e.Code != 3 {
				t.Errorf("the next session: %+v", e)
			}
			ids, err := p.Reap(testContext(t), func(string) (bool, error) { return false, nil })
			if err != nil || len(ids) != 0 {
				t.Errorf("left behind: %q, %v", ids, err)
			}
		})
	}
}

// TestAProgramThatIgnoresTheHangupOfKillSession: it has no terminal any more,
// and is ended.
func TestAProgramThatIgnoresTheHangupOfKillSession(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, `trap "" HUP TERM; echo READY; while :; do sleep 0.1; done`)
	s.printed(t, "READY")
	p.command(t, "kill-session", "-t", "="+s.id)
	if e := s.exit(t); e.Signal != int(unix.SIGKILL) {
		t.Errorf("exit %+v, want killed", e)
	}
	// What was killed ends once it is scheduled.
	eventually(t, "nothing is left", func() bool { return len(s.status(t).Left) == 0 && hasEnded(strconv.Itoa(s.pid)) })
}

// TestRespawnByHand: the pane's program is a new one, so the session's has
// ended; what runs there now is the user's.
func TestRespawnByHand(t *testing.T) {
	for name, with := range map[string][]string{
		"the launcher":       nil,
		"a program":          {"sh", "-c", "echo THEIRS; exec sleep 1000"},
		"one that prints on": {"sh", "-c", "exec yes THEIRS"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			s := p.start(t, `echo READY; exec sleep 1000`)
			s.printed(t, "READY")
			beside := p.start(t, `echo READY; read x; exit 4`)
			server := p.serverPID(t)
			p.command(t, append([]string{"respawn-pane", "-k", "-t", tmux.PaneTarget(s.id)}, with...)...)
			if e := s.exit(t); e.Signal != int(unix.SIGHUP) {
				t.Errorf("exit %+v, want by a hangup", e)
			}
			if out := s.output(t); !strings.HasPrefix(out, "READY\r\n") || with == nil && out != "READY\r\n" {
				t.Errorf("output %.100q", out)
			}
			if now := p.serverPID(t); now != server {
				t.Errorf("the tmux server was %s and is %s", server, now)
			}
			beside.types(t, "\n")
			if e := beside.exit(t); e.Code != 4 {
				t.Errorf("the session beside: %+v", e)
			}
			if with != nil {
				p.command(t, "kill-pane", "-t", tmux.PaneTarget(s.id))
			}
			eventually(t, "no pane is left", func() bool {
				_, err := p.byHand("has-session", "-t", "="+s.id)
				return err != nil
			})
		})
	}
}

// TestAttachByHandBesideAViewer: both type, and a user's own client changes
// neither the writer's size nor who the writer is.
func TestAttachByHandBesideAViewer(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, `echo READY; while read x; do echo "got $x."; done`)
	a := s.attach(t, terminal.AttachOptions{Mode: terminal.ModeAttach, Client: "browser", Size: terminal.DefaultSize})
	c := p.attachByHand(t, s, terminal.Size{Cols: 40, Rows: 10})
	c.sees("READY")
	c.types("hand\r")
	s.printed(t, "got hand.")
	if err := a.Input([]byte("browser\r")); err != nil {
		t.Fatal(err)
	}
	c.sees("got browser.")
	s.printed(t, "got browser.")
	if st := s.status(t); st.Size.Cols != terminal.DefaultSize.Cols || st.Writer == nil || st.Writer.Client != "browser" {
		t.Errorf("size %+v, writer %+v", st.Size, st.Writer)
	}
	p.command(t, "detach-client", "-s", "="+s.id)
	c.wait()
	if err := a.Input([]byte("still\r")); err != nil {
		t.Fatal(err)
	}
	received(t, a, "got still.")
}

// TestBothTypeAtOnce: each key of a user's own client and of the writer
// arrives, and each one's in its order.
func TestBothTypeAtOnce(t *testing.T) {
	const keys = 2000
	p := newPlace(t)
	s := p.start(t, `stty raw -echo; echo READY; dd bs=1 count=4000 2>/dev/null | tr -d "\n"; echo END`)
	a := s.attach(t, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize, From: new(uint64)})
	received(t, a, "READY")
	c := p.attachByHand(t, s, terminal.DefaultSize)
	c.sees("READY")
	var typing sync.WaitGroup
	typing.Go(func() {
		for i := range keys / 10 {
			if _, err := io.WriteString(c.pty, strings.Repeat(string(rune('A'+i%26)), 10)); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range keys / 10 {
		if err := a.Input([]byte(strings.Repeat(string(rune('a'+i%26)), 10))); err != nil {
			t.Error(err)
		}
	}
	typing.Wait()
	got := received(t, a, "END")
	for first, who := range map[rune]string{'a': "the writer", 'A': "by hand"} {
		var want strings.Builder
		for i := range keys / 10 {
			want.WriteString(strings.Repeat(string(first+rune(i%26)), 10))
		}
		typed := strings.Map(func(r rune) rune {
			if r >= first && r < first+26 {
				return r
			}
			return -1
		}, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(got), "READY"), "END"))
		if typed != want.String() {
			t.Errorf("%s: %d keys arrived of %d: %.60q", who, len(typed), keys, typed)
		}
	}
}

// TestFocusEventsLeftOn: a program ends that has asked for focus reports, with
// a user's client on it, which leaves then: a tmux server with such a pane has
// crashed.
func TestFocusEventsLeftOn(t *testing.T) {
	for _, end := range []string{"exit 7", `kill -9 $$`} {
		t.Run(end, func(t *testing.T) {
			p := newPlace(t)
			beside := p.start(t, `read x; exit 4`)
			server := p.serverPID(t)
			s := p.start(t, `printf '\033[?1004h\033[?1000h\033[?1049h'; echo READY; read x; `+end)
			c := p.attachByHand(t, s, terminal.DefaultSize)
			c.sees("READY")
			c.types("\r")
			c.wait() // its session is gone
			if e := s.exit(t); e.Code != 7 && e.Signal != int(unix.SIGKILL) {
				t.Errorf("exit %+v", e)
			}
			d := p.attachByHand(t, beside, terminal.DefaultSize)
			eventually(t, "the client is there", func() bool { return p.command(t, "list-clients", "-t", "="+beside.id) != "" })
			p.command(t, "detach-client", "-s", "="+beside.id)
			d.wait()
			if now := p.serverPID(t); now != server {
				t.Errorf("the tmux server was %s and is %s", server, now)
			}
			beside.types(t, "\n")
			if e := beside.exit(t); e.Code != 4 {
				t.Errorf("the session beside: %+v", e)
			}
		})
	}
}

// TestAPipeByHandEndsNothing: a user's pipe-pane takes the session's place; the
// program does not notice, and its exit is recorded.
func TestAPipeByHandEndsNothing(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, `echo READY; while read x; do echo "got $x."; [ "$x" = end ] && exit 6; done`)
	s.printed(t, "READY")
	p.command(t, "pipe-pane", "-t", tmux.PaneTarget(s.id), "cat > /dev/null")
	s.types(t, "more\n")
	if st := s.status(t); st.State != terminal.StateRunning {
		t.Errorf("status %+v", st)
	}
	s.types(t, "end\n")
	if e := s.exit(t); e.Code != 6 {
		t.Errorf("exit %+v", e)
	}
}

// TestAnotherServersPaneIsNotTouched: a new server gives a pane of its own the
// id that ours had.
func TestAnotherServersPaneIsNotTouched(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, `trap "" HUP; echo READY; while :; do sleep 0.1; done`)
	s.printed(t, "READY")
	pane := p.panes(t, "#{pane_id}")
	a := s.attach(t, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	p.command(t, "kill-server")
	other := p.start(t, `while read x; do echo "got $x."; done`)
	if now := p.panes(t, "#{pane_id}"); now != pane {
		t.Skipf("tmux gave pane %s, not %s", now, pane)
	}
	// Each of them may be refused, or not: the session may have ended by now.
	_ = s.Input(testContext(t), []byte("x\n"))
	_ = a.Input([]byte("y\n"))
	_ = a.Resize(terminal.Size{Cols: 10, Rows: 10})
	if err := s.Stop(testContext(t), 0); err != nil {
		t.Error(err)
	}
	other.types(t, "z\n")
	other.printed(t, "got z.")
	if st := other.status(t); st.State != terminal.StateRunning || strings.TrimSpace(p.panes(t, "#{pane_width}")) != "80" || strings.Contains(other.output(t), "got x") {
		t.Errorf("status %+v, output %q", st, other.output(t))
	}
	if got := p.command(t, "list-buffers"); got != "" {
		t.Errorf("buffers were left: %q", got)
	}
}

// TestKillServerByHand: it is the end of each program, by a hangup, with all
// that it has printed.
func TestKillServerByHand(t *testing.T) {
	p := newPlace(t)
	var all []*session
	for range 3 {
		s := p.start(t, `echo FIRST; echo LAST; exec sleep 1000`)
		s.printed(t, "LAST")
		all = append(all, s)
	}
	p.command(t, "kill-server")
	for _, s := range all {
		if e := s.exit(t); e.Signal != int(unix.SIGHUP) || s.output(t) != "FIRST\r\nLAST\r\n" {
			t.Errorf("exit %+v after %q", e, s.output(t))
		}
	}
	if e := p.start(t, "exit 3").exit(t); e.Code != 3 {
		t.Errorf("the next: %+v", e)
	}
}
