//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// serverOptions say how a server of ours differs from a plain one.
type serverOptions struct {
	// target gives it a workspace and a session to attack.
	target bool
	// env is added to its environment.
	env []string
	// wrap is a command that executes the rest of its arguments.
	wrap []string
	// asOther runs it, and its command line, as the second user.
	asOther bool
	// home is its MIDDLEMAN_HOME, "" a new one.
	home string
	// listen is where it listens, "" at any port.
	listen string
	// args are further arguments of serve.
	args []string
}

// server is a middleman of ours.
type server struct {
	w    *world
	home string
	env  []string
	cmd  *exec.Cmd
	addr string // host:port, as browsers know it
	at   string // where it listens
	link string // to log in with, once
	// workspace and session are what there is to attack: a session that runs
	// cat, in a directory.
	workspace, session string
	asOther            bool
	// mu guards proof, which is auth's, and kept, which is a probe's.
	mu    sync.Mutex
	proof []string
	kept  map[string]string
}

// environ is a small environment for middleman.
func (w *world) environ(home string, more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.dir, "t"), "TMPDIR=" + w.tmp(), "MIDDLEMAN_HOME=" + home,
		"TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.invalid",
	}, more...)
}

// newServer starts one and waits until it has said how to log in.
func (w *world) newServer(o serverOptions) (s *server, err error) {
	defer func() {
		if b, is := recover().(broken); is {
			err = b.err
		}
	}()
	if o.home == "" {
		o.home = w.place()
	}
	s = &server{w: w, home: o.home, env: w.environ(o.home, o.env...), asOther: o.asOther}
	if o.asOther {
		w.give(o.home, 0o700)
		s.env = append(s.env, "TMPDIR="+o.home, "HOME="+o.home)
	}
	s.start(o)
	if o.target {
		s.makeTarget()
	}
	return s, nil
}

// fresh is newServer for a probe.
func (w *world) fresh(o serverOptions) *server { return must1(w.newServer(o)) }

// start runs serve on a port of its own and reads its first lines.
func (s *server) start(o serverOptions) {
	listen := o.listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	argv := append(append([]string{}, o.wrap...), s.w.binary, "serve", "--print-link", "--listen", listen)
	argv = append(argv, o.args...)
	s.cmd = exec.Command(argv[0], argv[1:]...)
	s.dress(s.cmd)
	said := &limited{}
	s.cmd.Stderr = said
	out := must1(s.cmd.StdoutPipe())
	must(s.cmd.Start())
	s.w.mu.Lock()
	s.w.servers = append(s.w.servers, s)
	s.w.mu.Unlock()
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	s.link, s.addr, s.at = "", "", ""
	lines := bufio.NewScanner(out)
	for s.link == "" && lines.Scan() {
		if a, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			s.at = withoutScheme(a)
		}
		if l, ok := strings.CutPrefix(lines.Text(), "log in with "); ok {
			s.link = l
			s.addr, _, _ = strings.Cut(withoutScheme(l), "/")
		}
	}
	if s.link == "" {
		must(fmt.Errorf("serve printed no link to log in with: %s", said))
	}
	go func() { // ends with the server
		for lines.Scan() {
		}
	}()
}

func withoutScheme(url string) string {
	return strings.TrimPrefix(strings.TrimPrefix(url, "http://"), "https://")
}

// stop ends the server; its sessions go on.
func (s *server) stop() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	late := time.AfterFunc(15*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	_ = s.cmd.Wait() // how it ended is no finding
}

func (s *server) makeTarget() {
	s.workspace, s.session = s.newTarget("target", "cat")
}

// newTarget makes a workspace in a directory with a session that runs argv.
func (s *server) newTarget(name string, argv ...string) (workspace, session string) {
	args := append([]string{"new", "-d", "--json", "--mode", "directory", "--backend", "pty-owner", name, "--"}, argv...)
	o := s.run(args...)
	var made struct {
		Workspace, Session struct{ ID string }
	}
	if err := json.Unmarshal([]byte(o.stdout), &made); err != nil || made.Session.ID == "" {
		must(fmt.Errorf("middleman %s: %s", strings.Join(args, " "), o))
	}
	return made.Workspace.ID, made.Session.ID
}

// command is middleman's command line in the server's home.
func (s *server) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.w.binary, args...)
	s.dress(cmd)
	return cmd
}

// dress gives a command the server's environment and user.
func (s *server) dress(cmd *exec.Cmd) {
	cmd.Env, cmd.Dir = s.env, s.w.tmp()
	if s.asOther {
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUID, Gid: otherUID}}
	}
}

// run runs the command line.
func (s *server) run(args ...string) output { return collect(s.command(args...)) }

// ok runs the command line, which must work.
func (s *server) ok(args ...string) output {
	o := s.run(args...)
	if o.code != 0 {
		must(fmt.Errorf("middleman %s: %s", strings.Join(args, " "), o))
	}
	return o
}

func (s *server) socket() string { return filepath.Join(s.home, "run", "middleman.sock") }

// alive returns nil if the server and its session still answer.
func (s *server) alive() error {
	if o := s.run("ls", "--json"); o.code != 0 {
		return fmt.Errorf("the server does not answer any more: %s", o)
	}
	if s.session == "" {
		return nil
	}
	if got := s.state(s.session); got != "running" {
		return fmt.Errorf("the session is %q", got)
	}
	return nil
}

// state is a session's, by the server.
func (s *server) state(session string) string {
	var v struct{ State string }
	a := s.local("GET", "/api/v1/sessions/"+session, "")
	_ = json.Unmarshal([]byte(a.body), &v) // what is none has no state
	return v.State
}

// instance is the name that the server has for itself.
func (s *server) instance() string {
	var v struct{ ID string }
	readJSON(filepath.Join(s.home, "data", "instance.json"), &v)
	return v.ID
}

func readJSON(path string, v any) { must(json.Unmarshal(must1(os.ReadFile(path)), v)) }

func write(path, text string) {
	must(os.MkdirAll(filepath.Dir(path), 0o755))
	must(os.WriteFile(path, []byte(text), 0o644))
}

func executable(path, text string) {
	write(path, text)
	must(os.Chmod(path, 0o755))
}

// memory is what the server's process holds, in bytes.
func (s *server) memory() (bytes int) { return processMemory(s.cmd.Process.Pid) }

func processMemory(pid int) (bytes int) {
	for line := range strings.Lines(string(must1(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))))) {
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &bytes); err == nil {
			return bytes << 10
		}
	}
	return 0
}

func unmarshal(text string, v any) { must(json.Unmarshal([]byte(text), v)) }
