//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// told are variables that a server's shell may hold and a session must not see.
var told = []string{"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "OPENAI_API_KEY", "NOTIFY_SOCKET", "LISTEN_FDS", "MIDDLEMAN_TOKEN", "DBUS_SESSION_BUS_ADDRESS", "LD_PRELOAD_CANARY", "SUDO_COMMAND"}

// toldValue is all of theirs.
const toldValue = "secret-of-the-servers-shell"

func environmentProbes() []probe {
	probes := []probe{{id: "control", title: "a session sees what it may", control: true, gain: "nothing: it shows that a variable that a session had would be seen",
		run: func(w *world) error {
			if env := sessionEnvironment(w, "pty-owner"); !strings.Contains(env, "MIDDLEMAN_SESSION=") || !strings.Contains(env, "TERM=") {
				return fmt.Errorf("the session has %q", env)
			}
			return nil
		}}}
	for _, backend := range []string{"pty-owner", "tmux"} {
		for _, name := range told {
			probes = append(probes, probe{id: backend + "/" + name, title: "a session on " + backend + " sees the server's " + name, gain: "the server's credential, for a program that was to have none",
				run: func(w *world) error {
					if env := sessionEnvironment(w, backend); strings.Contains(env, name+"="+toldValue) {
						return errors.New("it does")
					}
					return nil
				}})
		}
		probes = append(probes, probe{id: backend + "/proc", title: "no process above a session on " + backend + " has the server's environment", gain: "the server's credentials, read from /proc by any session",
			run: func(w *world) error { return environmentsAbove(w, backend) }})
	}
	return append(probes,
		probe{id: "background", title: "a server that was started in the background keeps nothing of its shell's secrets in /proc", gain: "tokens of the shell that started it, read by any session", run: backgroundEnvironment},
		probe{id: "dumpable/server", title: "a program of the same user reads the server's memory", gain: "every secret that the server knows, for any session", run: func(w *world) error { return dumpable(w, false) }},
		probe{id: "dumpable/owner", title: "a program of the same user reads an owner's memory", gain: "another session's token and screen, for any session", run: func(w *world) error { return dumpable(w, true) }},
		probe{id: "core/server", title: "the server leaves no core file", gain: "a file of its memory in a directory that others share", run: func(w *world) error {
			s := w.fresh(serverOptions{wrap: []string{"/bin/sh", "-c", `ulimit -c unlimited; exec "$@"`, "sh"}, target: true})
			defer s.stop()
			return errors.Join(noCore(s.cmd.Process.Pid), noCore(s.owner(s.session).OwnerPID))
		}},
		probe{id: "umask", title: "sessions have the same umask on both backends, and never 0", gain: "files of the user's that everybody may write", run: sameUmask})
}

// environmentServer is one whose shell held secrets, made once.
func (w *world) environmentServer() *server {
	return must1(w.telling())
}

func newTelling(w *world) (*server, error) {
	var env []string
	for _, name := range told {
		env = append(env, name+"="+toldValue)
	}
	return w.newServer(serverOptions{env: env})
}

// sessionEnvironment is what `env` prints in a session. The command line has
// none of the secrets: they could come from the server alone.
func sessionEnvironment(w *world, backend string) string {
	s := w.environmentServer()
	s.mu.Lock()
	defer s.mu.Unlock()
	if env, is := s.kept[backend]; is {
		return env
	}
	cmd := s.command("new", "-d", "--mode", "directory", "--backend", backend, "--cols", "200", "--rows", "200", "env-"+backend, "--", "/bin/sh", "-c", "env; sleep 1000")
	cmd.Env = w.environ(s.home)
	if o := collect(cmd); o.code != 0 {
		must(&skip{"there is no backend " + backend + " here"})
	}
	s.ok("wait", "env-"+backend, "--text", "MIDDLEMAN_WORKSPACE_PATH=", "--timeout", "30s")
	if s.kept == nil {
		s.kept = map[string]string{}
	}
	s.kept[backend] = s.ok("capture", "env-"+backend, "--scrollback").stdout
	return s.kept[backend]
}

// environmentsAbove looks into every process that descends from us and names
// the server's home: owners, launchers, the tmux server, programs.
func environmentsAbove(w *world, backend string) error {
	sessionEnvironment(w, backend)
	s := w.environmentServer()
	for _, pid := range w.descendants() {
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // one that nobody may read tells nothing
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if pid != s.cmd.Process.Pid && strings.Contains(string(line)+string(raw), s.home) && strings.Contains(string(raw), toldValue) {
			return fmt.Errorf("process %d %q has it", pid, cut(string(line), 200))
		}
	}
	return nil
}

// backgroundEnvironment has a command start the server.
func backgroundEnvironment(w *world) error {
	home := w.place()
	s := &server{w: w, home: home, env: w.environ(home, "GITHUB_TOKEN="+toldValue)}
	write(home+"/config/config.toml", "listen = \"127.0.0.1:0\"\n")
	// Without --clean-env the session's own program has what the shell forwards.
	o := s.run("new", "-d", "--clean-env", "--mode", "directory", "--backend", "pty-owner", "x", "--", "cat")
	var serve struct{ PID int }
	readJSON(home+"/run/serve.json", &serve)
	if o.code != 0 || serve.PID == 0 {
		return fmt.Errorf("no server was started: %s", o)
	}
	for _, pid := range w.descendants() {
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // one that nobody may read tells nothing
		if strings.Contains(string(raw), toldValue) && strings.Contains(string(raw), home) {
			return fmt.Errorf("process %d has it (the server is %d)", pid, serve.PID)
		}
	}
	return nil
}

// dumpable has a process of the server's own user, without further rights,
// open its memory. The control is a process that allows it.
func dumpable(w *world, ofOwner bool) error {
	s := w.fresh(serverOptions{asOther: w.isRoot, target: true})
	defer s.stop()
	pid := s.cmd.Process.Pid
	if ofOwner {
		pid = s.owner(s.session).OwnerPID
	}
	look := func(path string) output {
		cmd := s.command("helper", "list", path)
		cmd.Path, cmd.Args[0] = w.self, w.self
		return collect(cmd)
	}
	var v struct{ Sessions []struct{ PID int } }
	unmarshal(s.ok("ls", "--sessions", "--json").stdout, &v)
	if o := look(fmt.Sprintf("/proc/%d/fd", v.Sessions[0].PID)); o.code != 0 {
		return fmt.Errorf("not even the session's program can be looked into, so it proves nothing: %s", o)
	}
	if o := look(fmt.Sprintf("/proc/%d/fd", pid)); o.code == 0 {
		return fmt.Errorf("process %d can be looked into by any program of the same user", pid)
	}
	return nil
}

func noCore(pid int) error {
	for line := range strings.Lines(string(must1(os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))))) {
		if strings.HasPrefix(line, "Max core file size") && !regexp.MustCompile(`size\s+0\s`).MatchString(line) {
			return fmt.Errorf("process %d: %s", pid, strings.TrimSpace(line))
		}
	}
	return nil
}

func sameUmask(w *world) error {
	return errors.Join(umaskOf(w, 0), umaskOf(w, 0o077))
}

// umaskOf starts sessions with a server that has that umask: their programs
// give others no more than it does, nor more than a login's, on both backends.
func umaskOf(w *world, starter uint64) error {
	s := w.fresh(serverOptions{wrap: []string{"/bin/sh", "-c", fmt.Sprintf(`umask %04o; exec "$@"`, starter), "sh"}})
	defer s.stop()
	masks := map[string]string{}
	for _, backend := range []string{"pty-owner", "tmux"} {
		name := "umask-" + backend
		cmd := s.command("new", "-d", "--mode", "directory", "--backend", backend, name, "--", "/bin/sh", "-c", "echo mask=$(umask)=; sleep 1000")
		if o := collect(cmd); o.code != 0 {
			return &skip{"there is no backend " + backend + " here"}
		}
		s.ok("wait", name, "--regex", "mask=[0-7]+=", "--timeout", "30s")
		masks[backend] = regexp.MustCompile(`mask=([0-7]+)=`).FindStringSubmatch(s.ok("capture", name).stdout)[1]
	}
	n, err := strconv.ParseUint(masks["tmux"], 8, 32)
	if err != nil || n&0o002 == 0 || n&starter != starter || masks["tmux"] != masks["pty-owner"] {
		return fmt.Errorf("started with %04o, umasks: %v", starter, masks)
	}
	return nil
}
