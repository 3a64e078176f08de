//go:build linux

package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func peerProbes() []probe {
	const gain = "a shell as the user, for any other user of the machine"
	return []probe{
		{id: "control", title: "the second user reaches a socket that is open, and we reach ours", control: true, run: peerControl,
			gain: "nothing: it shows that the second user can connect at all"},
		{id: "server/as-it-is", title: "a second user connects to the server's socket", gain: gain, run: func(w *world) error {
			return noAnswer(w.other("GET /api/v1/workspaces HTTP/1.1\r\nHost: localhost\r\n\r\n", "connect", must1(w.shared()).socket()))
		}},
		{id: "server/opened", title: "the same when directories and socket were opened to everybody", gain: gain, run: serverOpened},
		{id: "server/listed", title: "a second user lists the runtime directory", gain: "where sockets are", run: func(w *world) error {
			return denied(w.other("", "list", filepath.Join(must1(w.shared()).home, "run")))
		}},
		{id: "owner/as-it-is", title: "a second user connects to an owner's socket", gain: gain, run: func(w *world) error {
			s := must1(w.shared())
			return noAnswer(w.other(hello(s.owner(s.session).Token, "control"), "connect", s.owner(s.session).Socket))
		}},
		{id: "owner/opened", title: "the same with its right token, directories and socket open to everybody", gain: gain, run: ownerOpened},
		{id: "tmux/as-it-is", title: "a second user attaches to the private tmux server", gain: gain, run: func(w *world) error { return tmuxAsOther(w, false) }},
		{id: "tmux/opened", title: "the same when directories and socket were opened to everybody", gain: gain, run: func(w *world) error { return tmuxAsOther(w, true) }},
		{id: "client/serve-json", title: "our command line, led to a socket of another user's by our serve.json", gain: "what the user types, and answers of the attacker's choice",
			run: func(w *world) error { return ledAstray(w, "server") }},
		{id: "client/socket-replaced", title: "our command line, where the server's socket is another user's", gain: "what the user types, and answers of the attacker's choice",
			run: func(w *world) error { return ledAstray(w, "socket") }},
		{id: "client/owner-json", title: "our command line, led to a socket of another user's by our owner.json", gain: "the owner's token, and what the user types",
			run: func(w *world) error { return ledAstray(w, "owner") }},
	}
}

// owner is what a session's owner.json says.
type owner struct {
	Socket, Token string
	OwnerPID      int `json:"owner_pid"`
}

func (s *server) sessionDir(session string) string {
	return filepath.Join(s.home, "data", "sessions", session)
}

func (s *server) owner(session string) (o owner) {
	readJSON(filepath.Join(s.sessionDir(session), "owner.json"), &o)
	return o
}

// ownerFrame is a frame of the owners' protocol.
func ownerFrame(kind byte, payload string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(payload)))) + string(kind) + payload
}

// hello is the frame that opens a connection to an owner.
func hello(token, mode string) string {
	return ownerFrame(1, string(must1(json.Marshal(map[string]any{"min": 1, "max": 1, "token": token, "mode": mode}))))
}

func peerControl(w *world) error {
	s := must1(w.shared())
	if err := s.alive(); err != nil {
		return err
	}
	w.needOther()
	dir := w.place()
	must(os.Chmod(dir, 0o711))
	l := must1(net.Listen("unix", filepath.Join(dir, "s")))
	defer l.Close()
	must(os.Chmod(filepath.Join(dir, "s"), 0o666))
	go func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "welcome")
			conn.Close()
		}
	}()
	if o := w.other("", "connect", filepath.Join(dir, "s")); !strings.Contains(o.stdout, "welcome") {
		return fmt.Errorf("%s", o)
	}
	return nil
}

// noAnswer: the second user could not connect, or was told nothing.
func noAnswer(o output) error {
	if strings.TrimSpace(strings.TrimPrefix(o.stdout, "connected")) == "" {
		return nil
	}
	return fmt.Errorf("the second user was answered: %s", o)
}

func denied(o output) error {
	if o.code != 0 && strings.Contains(o.stderr, "permission denied") {
		return nil
	}
	return fmt.Errorf("not denied: %s", o)
}

// opened makes every directory from home to a socket passable and the socket
// everybody's; the function that it returns closes them again.
func opened(home, socket string) func() {
	var undo []func()
	set := func(path string, mode os.FileMode) {
		was := must1(os.Stat(path)).Mode().Perm()
		must(os.Chmod(path, mode))
		undo = append(undo, func() { must(os.Chmod(path, was)) })
	}
	set(socket, 0o666)
	for dir := filepath.Dir(socket); len(dir) >= len(home); dir = filepath.Dir(dir) {
		set(dir, 0o711)
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

// loose is a server for a probe that opens its directories.
func (w *world) loose(o serverOptions) *server {
	w.needOther()
	return w.fresh(o)
}

func serverOpened(w *world) error {
	s := w.loose(serverOptions{target: true})
	defer s.stop()
	defer opened(s.home, s.socket())()
	return noAnswer(w.other("GET /api/v1/workspaces HTTP/1.1\r\nHost: localhost\r\n\r\n", "connect", s.socket()))
}

func ownerOpened(w *world) error {
	s := w.loose(serverOptions{target: true})
	defer s.stop()
	o := s.owner(s.session)
	defer opened(s.home, o.Socket)()
	return noAnswer(w.other(hello(o.Token, "control"), "connect", o.Socket))
}

// tmuxAsOther uses the tmux program, whose own check holds too.
func tmuxAsOther(w *world, open bool) error {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		return &skip{"tmux is not installed"}
	}
	s := w.loose(serverOptions{})
	defer s.stop()
	s.ok("new", "-d", "--mode", "directory", "--backend", "tmux", "panes", "--", "cat")
	socket := filepath.Join(s.home, "run", "tmux.sock")
	if open {
		defer opened(s.home, socket)()
	}
	if o := collect(w.asOther(tmux, "-S", socket, "list-sessions")); o.stdout != "" {
		return fmt.Errorf("the second user's tmux says: %s", o)
	}
	return nil
}

// ledAstray puts another user's socket where our command line looks for one,
// and looks that it is told nothing.
func ledAstray(w *world, what string) error {
	s := w.loose(serverOptions{target: true})
	place := w.otherPlace(0o755)
	record, socket := w.plantListener(place)
	switch what {
	case "server":
		s.stop()
		write(filepath.Join(s.home, "run", "serve.json"), fmt.Sprintf(`{"address":"127.0.0.1:1","socket":%q,"pid":%d,"version":"x"}`, socket, os.Getpid()))
	case "socket":
		s.stop()
		must(os.Rename(socket, s.socket()))
		write(filepath.Join(s.home, "run", "serve.json"), fmt.Sprintf(`{"address":"127.0.0.1:1","socket":%q,"pid":%d,"version":"x"}`, s.socket(), os.Getpid()))
	case "owner":
		path := filepath.Join(s.sessionDir(s.session), "owner.json")
		raw := string(must1(os.ReadFile(path)))
		must(os.WriteFile(path, []byte(strings.ReplaceAll(raw, s.owner(s.session).Socket, socket)), 0o600))
		s.stop()
	}
	for _, args := range [][]string{{"ls", "--json"}, {"capture", s.session}, {"send", s.session, "the-users-secret"}, {"new", "-d", "--mode", "directory", "x", "--", "the-users-command"}} {
		cmd := s.command(args...)
		o := collect(cmd)
		if got, _ := os.ReadFile(record); len(got) > 0 {
			return fmt.Errorf("middleman %s told the other user %q: %s", strings.Join(args, " "), cut(string(got), 300), o)
		}
	}
	return nil
}
