//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

// sequence is what a terminal would obey, or what would mislead its reader.
type sequence struct{ name, bytes string }

var sequences = []sequence{
	{"escape", "\x1b]0;evil\x07"}, {"raw-c1", "\x9d0;evil\x9c"}, {"utf8-c1", "\u009d0;evil\u009c"},
	{"bidi", "\u202etxt.exe"}, {"isolate", "\u2066hidden\u2069"}, {"return", "shown\rhidden"}, {"backspace", "shown\b\b\b\b\b"},
}

// obeyed finds what a terminal would obey of a sequence.
func (q sequence) obeyed(shown string) bool {
	shown = strings.ReplaceAll(shown, "\r\n", "\n")
	switch q.name {
	case "return":
		return strings.Contains(shown, "shown\rhidden")
	case "raw-c1":
		return strings.Contains(shown, "\x9d0;evil")
	case "utf8-c1":
		return strings.Contains(shown, "\u009d")
	}
	return strings.Contains(shown, q.bytes)
}

// vector is a way for bytes of somebody else's to the operator's terminal: plant
// puts them there and returns the commands that show them.
type vector struct {
	name, title string
	plant       func(s *server, bytes string) [][]string
}

var vectors = []vector{
	{"title", "a session's title", func(s *server, b string) [][]string {
		name := s.titled("printf '\\033]2;%s\\033\\\\' " + quoted(b))
		return [][]string{{"ls"}, {"ls", "--sessions"}, {"show", name}}
	}},
	{"output", "a session's output", func(s *server, b string) [][]string {
		name := s.titled("printf '%s needle\\n' " + quoted(b))
		return [][]string{{"capture", name}, {"search", "needle"}, {"capture", name, "--scrollback"}}
	}},
	{"argument", "an argument of a session's command", func(s *server, b string) [][]string {
		script := ": " + quoted(b)
		if !utf8.ValidString(b) { // refused
			return [][]string{{"new", "-d", "--mode", "directory", "refused", "--", "/bin/sh", "-c", script}}
		}
		name := s.argued(script)
		return [][]string{{"ls", "--sessions"}, {"show", name}, {"doctor"}}
	}},
	{"workspace", "a workspace's name", func(s *server, b string) [][]string {
		s.run("new", "-d", "--no-session", "--mode", "directory", b)
		return [][]string{{"ls"}, {"ls", "--all"}, {"show", b}, {"rm", b, "-n"}}
	}},
	{"target", "a target that there is not", func(s *server, b string) [][]string {
		return [][]string{{"show", b}, {"capture", b}, {"attach", b}, {"rm", b}, {"restore", b}, {"wait", b}, {"logs", b}, {"stop", b}, {"diff", b}, {"retry", b}}
	}},
	{"flag", "the value of a flag", func(s *server, b string) [][]string {
		return [][]string{{"new", "-d", "--mode", b}, {"new", "-d", "--backend", b}, {"new", "-d", "-p", b}, {"new", "-d", "--sandbox", b}, {"logs", "x", "--from", b}, {"--" + b}, {b}, {"new", "-d", "-C", b}}
	}},
	{"base", "a base that there is not", func(s *server, b string) [][]string {
		r := s.w.newRepository()
		r.server = s
		return [][]string{{"new", "-d", "--no-session", "-C", r.dir, "--base", b}, {"new", "-d", "--no-session", "-C", r.dir, "--branch", b}}
	}},
	{"setup", "what a setup prints", func(s *server, b string) [][]string {
		r := s.w.newRepository()
		r.server = s
		executable(r.dir+"/say", "#!/bin/sh\nprintf '%s\\n' "+quoted(b)+"\nexit 3\n")
		r.git("add", "say")
		r.configure("setup = [\"./say\"]\n")
		r.consents()
		r.begin()
		return [][]string{{"logs", r.name, "--setup"}, {"show", r.name}, {"ls"}, {"retry", r.name}}
	}},
	{"commit", "a commit's subject and author", func(s *server, b string) [][]string {
		r := must1(s.w.looked())
		cmd := exec.Command("git", "commit", "-q", "--allow-empty", "-m", b, "--author", b+" <x@example.invalid>")
		cmd.Dir, cmd.Env = r.tree, r.env
		_ = cmd.Run() // git refuses some bytes itself
		return [][]string{{"diff", r.name, "--commits"}, {"show", r.name}, {"rm", r.name, "-n"}, {"ls"}}
	}},
	{"file", "a file's name", func(s *server, b string) [][]string {
		r := must1(s.w.looked())
		_ = os.WriteFile(filepath.Join(r.tree, strings.ReplaceAll(b, "/", "_")), []byte("x\n"), 0o644) // some bytes are no name
		return [][]string{{"diff", r.name}, {"diff", r.name, "--stat"}, {"diff", r.name, "--name-only"}, {"rm", r.name, "-n"}, {"rm", r.name}}
	}},
	{"content", "a file's content", func(s *server, b string) [][]string {
		r := must1(s.w.looked())
		write(r.tree+"/a.txt", "before "+b+" after\n")
		return [][]string{{"diff", r.name}}
	}},
	{"configuration", "our own configuration", func(s *server, b string) [][]string {
		write(s.home+"/config/config.toml", "backend = '"+b+"'\n")
		return [][]string{{"ls"}, {"doctor"}, {"serve"}}
	}},
	{"repository-configuration", "a .middleman.toml without consent", func(s *server, b string) [][]string {
		r := s.w.newRepository()
		r.server = s
		r.configure("setup = ['echo " + b + "']\n[env]\nX = '" + b + "'\n")
		return [][]string{{"trust", "-C", r.dir, "-n"}, {"new", "-d", "--no-session", "-C", r.dir}}
	}},
}

func quoted(b string) string { return "'" + strings.ReplaceAll(b, "'", "") + "'" }

// titled starts a session that runs a script and stays, and names its
// workspace. The script is in a file: its bytes need be no argument.
func (s *server) titled(script string) string {
	name := newName()
	file := filepath.Join(s.w.dir, name+".sh")
	write(file, script+waits)
	s.stays(name, file)
	return name
}

// argued is titled with the script as an argument of the session's command.
func (s *server) argued(script string) string {
	name := newName()
	s.stays(name, "-c", script+waits)
	return name
}

// waits is the end of a script that stays.
const waits = "; echo RE''ADY; sleep 1000"

func newName() string { return "t" + fmt.Sprint(time.Now().UnixNano()) }

// stays starts a session of sh in a workspace of its own, and waits until it is ready.
func (s *server) stays(name string, args ...string) {
	s.run(append([]string{"new", "-d", "--mode", "directory", "--backend", "pty-owner", name, "--", "/bin/sh"}, args...)...)
	s.ok("wait", name, "--text", "READY", "--timeout", "30s")
}

// begun is a workspace of a fresh repository on a server.
func begun(w *world, on func() (*server, error)) (r *repository, err error) {
	defer func() {
		if b, is := recover().(broken); is {
			err = b.err
		}
	}()
	r = w.newRepository()
	r.server = must1(on())
	if o := r.begin(); o.code != 0 {
		must(fmt.Errorf("new: %s", o))
	}
	return r, nil
}

func escapeProbes() []probe {
	probes := []probe{{id: "control", title: "the raw bytes of a session are had by --raw", control: true, gain: "nothing: it shows that the bytes are there to be shown",
		run: func(w *world) error {
			s := w.fresh(serverOptions{})
			defer s.stop()
			name := s.titled("printf '%s' " + quoted(sequences[0].bytes))
			if o := s.run("logs", name, "--raw"); !sequences[0].obeyed(o.stdout) {
				return fmt.Errorf("%s", o)
			}
			return nil
		}}}
	for _, v := range vectors {
		for _, q := range sequences {
			probes = append(probes, probe{id: v.name + "/" + q.name, title: v.title + " with " + printable(fmt.Sprintf("%q", q.bytes)), gain: "the operator's terminal: its clipboard, title and answers, or another text than what is there",
				run: func(w *world) error { return shownOnTerminal(w, v, q) }})
		}
	}
	return probes
}

// shownOnTerminal runs the commands on a terminal and looks at what reaches it.
func shownOnTerminal(w *world, v vector, q sequence) error {
	s := must1(w.escaping())
	if v.name == "configuration" {
		s = &server{w: w, home: w.place(), env: s.env}
		s.env = w.environ(s.home)
	}
	for _, args := range v.plant(s, q.bytes) {
		cmd := s.command(args...)
		cmd.Env = append(cmd.Env, "NO_COLOR=1")
		if o := onTerminal(cmd, 20*time.Second); q.obeyed(o.stdout) {
			return fmt.Errorf("middleman %q shows %q", args, around(o.stdout, q))
		}
	}
	return nil
}

// around is the part of a text that shows what is obeyed.
func around(shown string, q sequence) string {
	at := strings.Index(shown, q.bytes)
	if at < 0 {
		at = 0
	}
	return shown[max(0, at-60):min(len(shown), at+len(q.bytes)+60)]
}
