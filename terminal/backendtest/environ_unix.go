//go:build unix

package backendtest

import (
	"bytes"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/terminal"
)

// testEnvironmentNames: names and sources are told while the program runs and
// after its end, and values reach the program byte for byte and nobody else.
func testEnvironmentNames(f *fixture) {
	out := filepath.Join(f.TempDir(), "environment")
	spec := f.spec(f.path("sh"), "-c", `cat /proc/$$/environ >"$OUT" 2>/dev/null || env -0 >"$OUT"; read x`) // dash drops names that are none for it
	const secret = "se\xffcret\n\xc3 of backendtest"
	spec.Env = []string{"PATH=" + os.Getenv("PATH"), "OUT=" + out, "BYTES=" + secret, "BASH_FUNC_f%%=() {  :\n}"}
	spec.Sources = map[string]string{"PATH": "login", "OUT": "--env", "BYTES": "caller", "TERM": "caller", "UNUSED": "caller"}
	s := f.start(spec)
	want := []terminal.Variable{
		{Name: "BASH_FUNC_f%%"}, {Name: "BYTES", Source: "caller"}, {Name: "COLORTERM", Source: terminal.SourceOwn},
		{Name: "MIDDLEMAN_SESSION", Source: terminal.SourceOwn}, {Name: "MIDDLEMAN_WORKSPACE", Source: terminal.SourceOwn},
		{Name: "OUT", Source: "--env"}, {Name: "PATH", Source: "login"}, {Name: "TERM", Source: terminal.SourceOwn},
	}
	told := func(b terminal.Backend) {
		got, err := b.Session(spec.ID).Environment(f.ctx)
		f.ok(err)
		if !slices.Equal(got, want) {
			f.Errorf("told %v, want %v", got, want)
		}
	}
	told(f.b)
	told(f.h.New())
	f.ok(s.Input(f.ctx, []byte("\n")))
	f.ended(s)
	told(f.b)
	got, err := os.ReadFile(out)
	f.ok(err)
	for _, entry := range []string{"BYTES=" + secret, "BASH_FUNC_f%%=() {  :\n}"} {
		if !bytes.Contains(got, append([]byte(entry), 0)) {
			f.Errorf("%q did not reach the program: %q", entry, got)
		}
	}
	_, err = f.b.Session(terminal.NewID("s")).Environment(f.ctx)
	f.is("environment of no session", err, terminal.ErrNotFound)
}

// testAgentLink: SSH_AUTH_SOCK is a link that leads to the newest agent, and
// only to a socket of ours.
func testAgentLink(f *fixture) {
	dir := f.h.SocketDir()
	first, second := f.listen(dir, "first"), f.listen(dir, "second")
	s := f.agentSession(first, true)
	link := f.agentOf(s)
	if link == first {
		f.Fatalf("SSH_AUTH_SOCK is the agent's own socket %s", first)
	}
	leads := func(want string) {
		f.Helper()
		if got, err := os.Readlink(link); err != nil || got != want {
			f.Errorf("the link leads to %q, %v, want %q", got, err, want)
		}
	}
	leads(first)
	f.ok(s.LinkAgent(f.ctx, second))
	leads(second)
	conn, err := net.Dial("unix", link)
	f.ok(err)
	f.ok(conn.Close())
	file := filepath.Join(dir, "file")
	f.ok(os.WriteFile(file, nil, 0o600))
	for _, bad := range []string{"", "second", file, filepath.Join(dir, "missing"), dir} {
		if err := s.LinkAgent(f.ctx, bad); err == nil || !strings.Contains(err.Error(), "SSH agent") {
			f.Errorf("an agent at %q: %v", bad, err)
		}
	}
	leads(second)

	// A session that is given the link of another one does not depend on it.
	other := f.agentSession(link, true)
	if target, err := os.Readlink(f.agentOf(other)); target != second {
		f.Errorf("the link to a link leads to %q, %v, want %q", target, err, second)
	}
	// A session without a link keeps what it was given.
	for _, tt := range []struct {
		socket string
		link   bool
	}{{first, false}, {filepath.Join(dir, "missing"), true}} {
		plain := f.agentSession(tt.socket, tt.link)
		if got := f.agentOf(plain); got != tt.socket {
			f.Errorf("SSH_AUTH_SOCK is %q, want %q", got, tt.socket)
		}
		f.ok(plain.LinkAgent(f.ctx, second))
	}
	f.ok(s.Stop(f.ctx, -1))
	f.ok(s.Remove(f.ctx))
	if _, err := os.Lstat(link); err == nil {
		f.Errorf("%s is left of a removed session", link)
	}
	if info, err := os.Stat(second); err != nil || info.Mode()&fs.ModeSocket == 0 {
		f.Errorf("the agent's socket: %v", err)
	}
	f.is("agent of no session", s.LinkAgent(f.ctx, first), terminal.ErrNotFound)
}

// listen makes a socket, as an agent has one.
func (f *fixture) listen(dir, name string) string {
	f.Helper()
	path := filepath.Join(dir, name)
	l, err := net.Listen("unix", path)
	f.ok(err)
	f.Cleanup(func() { l.Close() })
	return path
}

// agentSession starts a program that prints its SSH_AUTH_SOCK.
func (f *fixture) agentSession(socket string, link bool) terminal.Session {
	f.Helper()
	spec := f.spec(f.path("sh"), "-c", `printf '<%s>\n' "$SSH_AUTH_SOCK"; read x`)
	spec.Env = append(spec.Env, terminal.AgentVariable+"="+socket)
	spec.AgentLink = link
	return f.start(spec)
}

// agentOf returns what such a program has printed.
func (f *fixture) agentOf(s terminal.Session) string {
	f.Helper()
	var text string
	f.eventually("SSH_AUTH_SOCK is printed", func() bool {
		_, rest, _ := strings.Cut(string(f.output(s, 0)), "<")
		var whole bool
		text, _, whole = strings.Cut(rest, ">")
		return whole
	})
	return text
}
