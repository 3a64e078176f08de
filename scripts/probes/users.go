//go:build linux

package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// helperMode makes this program act as the second user.
const helperMode = "helper"

// runHelper does one thing and prints what came of it.
func runHelper(args []string) int {
	if len(args) < 2 {
		return 2
	}
	var err error
	switch verb, path := args[0], args[1]; verb {
	case "connect":
		err = helpConnect(path)
	case "read":
		var raw []byte
		if raw, err = os.ReadFile(path); err == nil {
			_, err = os.Stdout.Write(raw)
		}
	case "list":
		var entries []os.DirEntry
		entries, err = os.ReadDir(path)
		for _, e := range entries {
			fmt.Println(e.Name())
		}
	case "write":
		err = os.WriteFile(path, []byte("written by a second user\n"), 0o600)
	case "listen":
		err = helpListen(path, args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// helpConnect sends what is on its standard input to a socket, and prints what
// comes within three seconds.
func helpConnect(path string) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Println("connected")
	if _, err := io.Copy(conn, os.Stdin); err != nil {
		return nil // it was closed: that is an answer
	}
	if err := conn.SetReadDeadline(time.Now().Add(3 * time.Second)); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, conn)
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}

// helpListen serves a socket as a middleman might, and writes all that it is
// sent to log.
func helpListen(path, log string) error {
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	record, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err = errors.Join(err, os.Chmod(path, 0o777)); err != nil {
		return err
	}
	fmt.Println("ready")
	return http.Serve(recordingListener{l, record}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "ok", "workspaces": []any{}, "sessions": []any{}, "version": "x"})
	}))
}

// recordingListener copies all that connections bring.
type recordingListener struct {
	net.Listener
	to io.Writer
}

func (l recordingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return recordingConn{conn, l.to}, nil
}

type recordingConn struct {
	net.Conn
	to io.Writer
}

func (c recordingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	_, _ = c.to.Write(p[:n]) // the log is all that there is to tell
	return n, err
}

// asOther is a command that runs as the second user.
func (w *world) asOther(argv ...string) *exec.Cmd {
	w.needOther()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "TERM=xterm"}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUID, Gid: otherUID, NoSetGroups: false}}
	return cmd
}

// other runs this program's helper as the second user.
func (w *world) other(input string, args ...string) output {
	cmd := w.asOther(append([]string{w.self, helperMode}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	return collect(cmd)
}

// otherPlace makes a directory of the second user's.
func (w *world) otherPlace(mode os.FileMode) string {
	w.needOther()
	path := w.place()
	w.give(path, mode)
	return path
}

// give hands a path to the second user.
func (w *world) give(path string, mode os.FileMode) {
	must(errors.Join(os.Chown(path, otherUID, otherUID), os.Chmod(path, mode)))
}

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
