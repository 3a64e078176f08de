//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stateful are the directories whose modes and owners count, below a home.
var stateful = []struct{ name, path string }{
	{"data", "data"}, {"run", "run"}, {"sessions", "data/sessions"}, {"session", "data/sessions/SESSION"},
}

func directoryProbes() []probe {
	probes := []probe{{id: "control", title: "as they were made, commands work and doctor finds them in order; also below a sticky directory", control: true,
		gain: "nothing: it shows that the refusals below are refusals", run: directoryControl}}
	for _, d := range stateful {
		for _, mode := range []os.FileMode{0o777, 0o770, 0o720, 0o702, 0o750, 0o755, 0o701} {
			gain := "sockets and state of the attacker's in the place of ours"
			if mode&0o022 == 0 {
				gain = "the names of what runs, and everything in it that is not closed itself"
			}
			probes = append(probes, probe{id: fmt.Sprintf("loosened/%s-%04o", d.name, mode), title: fmt.Sprintf("%s with mode %04o", d.path, mode), gain: gain,
				run: func(w *world) error { return loosened(w, d.path, mode) }})
		}
		probes = append(probes,
			probe{id: "linked/" + d.name, title: d.path + " is a symbolic link", gain: "state read and written where a link leads", run: func(w *world) error { return linked(w, d.path) }},
			probe{id: "owned/" + d.name, title: d.path + " belongs to another user", gain: "state that its owner can change at any time", run: func(w *world) error { return owned(w, d.path) }})
	}
	for _, mode := range []os.FileMode{0o777, 0o720, 0o702} {
		probes = append(probes, probe{id: fmt.Sprintf("loosened/home-%04o", mode), title: fmt.Sprintf("MIDDLEMAN_HOME itself with mode %04o", mode), gain: "our directories moved away and others put in their place",
			run: func(w *world) error { return loosened(w, ".", mode) }})
		probes = append(probes, probe{id: fmt.Sprintf("loosened/above-%04o", mode), title: fmt.Sprintf("the directory above MIDDLEMAN_HOME with mode %04o, not sticky", mode), gain: "our directories moved away and others put in their place",
			run: func(w *world) error { return loosened(w, "..", mode) }})
	}
	probes = append(probes, probe{id: "owned/above", title: "the directory above MIDDLEMAN_HOME belongs to another user", gain: "our directories moved away and others put in their place",
		run: func(w *world) error { return owned(w, "..") }})
	for _, f := range []string{"run/serve.json", "data/sessions/SESSION/owner.json", "data/instance.json"} {
		probes = append(probes, probe{id: "file-linked/" + filepath.Base(f), title: f + " is a symbolic link to a planted one", gain: "a token or a command told to the attacker's socket",
			run: func(w *world) error { return fileLinked(w, f) }})
	}
	for _, d := range []string{"data", "run"} {
		for _, mode := range []os.FileMode{0o777, 0o720, 0o702, 0o755} {
			probes = append(probes, probe{id: fmt.Sprintf("serve/%s-%04o", d, mode), title: fmt.Sprintf("a server starts where %s has mode %04o", d, mode), gain: "a database and sockets that others can replace",
				run: func(w *world) error { return servesLoose(w, d, mode) }})
		}
	}
	return append(append(probes, takenProbes()...), idProbes()...)
}

// ownHome is a server in a home below a directory of its own.
func (w *world) ownHome() *server {
	home := filepath.Join(w.place(), "h")
	must(os.Mkdir(home, 0o700))
	return w.fresh(serverOptions{home: home, target: true})
}

func (s *server) path(relative string) string {
	return filepath.Join(s.home, strings.ReplaceAll(relative, "SESSION", s.session))
}

func directoryControl(w *world) error {
	s := w.ownHome()
	defer s.stop()
	must(os.Chmod(filepath.Dir(s.home), 0o777|os.ModeSticky))
	if o := s.run("doctor"); strings.Contains(o.stdout, "problem  data") || strings.Contains(o.stdout, "problem  runtime") {
		return fmt.Errorf("doctor: %s", o)
	}
	if o := s.run("capture", s.session); o.code != 0 {
		return fmt.Errorf("capture: %s", o)
	}
	return s.alive()
}

// loosened: a command on the session is refused and names the directory, and
// doctor names it and fails.
func loosened(w *world, relative string, mode os.FileMode) error {
	s := w.ownHome()
	defer s.stop()
	path := s.path(relative)
	was := must1(os.Stat(path)).Mode().Perm()
	must(os.Chmod(path, mode))
	defer os.Chmod(path, was)
	if mode&0o022 != 0 {
		return s.refusesState(path)
	}
	return s.closesState(path)
}

// closesState: what others could only read is refused, or closed by the first
// command that uses it; doctor, which changes nothing, names it before.
func (s *server) closesState(path string) error {
	doctor := s.run("doctor")
	if doctor.code == 0 || !strings.Contains(doctor.stdout, path) {
		return fmt.Errorf("doctor is content with %s: %s", path, doctor)
	}
	if strings.HasPrefix(path, filepath.Join(s.home, "data", "sessions")) {
		return nil // the data directory above it is closed
	}
	o := s.run("capture", s.session)
	if mode := must1(os.Stat(path)).Mode().Perm(); o.code == 0 && mode != 0o700 {
		return fmt.Errorf("%s was used and still has mode %04o: %s", path, mode, o)
	}
	return nil
}

// refusesState: commands that would use what lies in path are refused.
func (s *server) refusesState(path string) error {
	for _, args := range [][]string{{"capture", s.session}, {"send", s.session, "secret"}, {"doctor"}} {
		o := s.run(args...)
		if o.code == 0 {
			return fmt.Errorf("middleman %s is content with %s: %s", args[0], path, o)
		}
		if !strings.Contains(o.all(), path) {
			return fmt.Errorf("middleman %s does not name %s: %s", args[0], path, o)
		}
	}
	return nil
}

func linked(w *world, relative string) error {
	s := w.ownHome()
	defer s.stop()
	path := s.path(relative)
	must(os.Rename(path, path+".moved"))
	must(os.Symlink(path+".moved", path))
	return s.refusesState(path)
}

func owned(w *world, relative string) error {
	w.needOther()
	s := w.ownHome()
	defer s.stop()
	path := s.path(relative)
	must(os.Chown(path, otherUID, otherUID))
	defer os.Chown(path, 0, 0)
	return s.refusesState(path)
}

// fileLinked: a link in the place of a file of ours is not followed, or what it
// leads to is not used.
func fileLinked(w *world, relative string) error {
	s := w.ownHome()
	defer s.stop()
	path := s.path(relative)
	planted := filepath.Join(w.place(), "planted")
	must(os.Rename(path, planted))
	must(os.Symlink(planted, path))
	for _, args := range [][]string{{"capture", s.session}, {"doctor"}} {
		if o := s.run(args...); o.code == 0 && args[0] == "doctor" {
			return fmt.Errorf("doctor is content with %s: %s", path, o)
		}
	}
	return nil
}

// servesLoose: a server does not start there.
func servesLoose(w *world, dir string, mode os.FileMode) error {
	home := w.place()
	for _, d := range []string{"data", "run"} {
		must(os.Mkdir(filepath.Join(home, d), 0o700))
	}
	must(os.Chmod(filepath.Join(home, dir), mode))
	s := &server{w: w, home: home, env: w.environ(home)}
	o := collectWithin(s.command("serve", "--listen", "127.0.0.1:0"), 5*time.Second)
	if mode&0o022 == 0 && must1(os.Stat(filepath.Join(home, dir))).Mode().Perm() == 0o700 {
		return nil // it was closed
	}
	if o.late || o.code == 0 || !strings.Contains(o.stderr, filepath.Join(home, dir)) {
		return fmt.Errorf("serve: %s", o)
	}
	return nil
}

// idProbes: a server of our own user's, taken over, answers with ids that lead
// out of the state directory, to a session with an owner of its own.
func idProbes() []probe {
	probes := []probe{{id: "id/control", title: "the server in between passes on what it is asked", control: true,
		gain: "nothing: it shows that the ids below reach the command line", run: func(w *world) error {
			o, err := askBetween(w, must1(w.shared()).session, "ls", "--sessions", "--json")
			if err != nil || o.code != 0 || !strings.Contains(o.stdout, `"running"`) {
				return fmt.Errorf("%s %w", o, err)
			}
			return nil
		}}}
	for _, x := range []struct{ name, id string }{
		{"dot-dot", "../../planted"}, {"more", "../../../../../../../../../../PLANTED"}, {"absolute", "PLANTED"}, {"inner", "sey2eg8ghn0xbb3tz/../../../planted"},
		{"backslash", `..\\..\\planted`}, {"empty", ""}, {"dot", "."}, {"parent", ".."}, {"nul", `s\u0000`}, {"escape", `s\u001b]0;owned\u0007`}, {"option", "--help"}, {"long", strings.Repeat("s", 5000)},
	} {
		probes = append(probes, probe{id: "id/" + x.name, title: "a session id " + cut(x.id, 40) + " from our own server", gain: "a planted program run, or a file outside read, by a name",
			run: func(w *world) error { return hostileID(w, x.id) }})
	}
	return probes
}

// askBetween runs a command whose server is another one's, with the session's
// id replaced in all answers.
func askBetween(w *world, id string, args ...string) (output, error) {
	s := must1(w.shared())
	home := w.place()
	for _, dir := range []string{"data", "run", "data/sessions", "planted"} {
		must(os.Mkdir(filepath.Join(home, dir), 0o700))
	}
	c := w.newCanary()
	planted := filepath.Join(home, "planted")
	c.plantSession(planted)
	must(os.Chmod(filepath.Join(planted, "owner.json"), 0o600))
	defer lock(filepath.Join(planted, "owner.lock"))()
	owner := must1(net.Listen("unix", filepath.Join(planted, "owner.sock")))
	defer owner.Close()
	told := make(chan struct{}, 1)
	go func() { // ends with Close
		if conn, err := owner.Accept(); err == nil {
			conn.Close()
			told <- struct{}{}
		}
	}()
	id = strings.ReplaceAll(id, "PLANTED", planted)
	socket := filepath.Join(home, "run", "middleman.sock")
	l := must1(net.Listen("unix", socket))
	must(os.Chmod(socket, 0o600))
	between := &http.Server{Handler: between(s, id)}
	go between.Serve(l) // ends with Close
	defer between.Close()
	must(os.WriteFile(filepath.Join(home, "run", "serve.json"), fmt.Appendf(nil, `{"address":%q,"socket":%q,"pid":%d,"version":"x"}`, s.at, socket, os.Getpid()), 0o600))
	asked := &server{w: w, home: home, env: w.environ(home)}
	o := collectWithin(asked.command(args...), 20*time.Second)
	by := "middleman " + strings.Join(args, " ")
	select {
	case <-told:
		return o, fmt.Errorf("%s connected to the planted owner", by)
	default:
		return o, c.sang(by)
	}
}

// between passes requests on and replaces the session's id in what comes back.
func between(s *server, id string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		a := s.local(r.Method, r.URL.RequestURI(), string(body))
		answer := bytes.ReplaceAll([]byte(a.body), []byte(`"`+s.session+`"`), []byte(`"`+id+`"`))
		answer = bytes.ReplaceAll(answer, []byte(`"pty-owner"`), []byte(`"tmux"`))
		w.Header().Set("Content-Type", a.header.Get("Content-Type"))
		w.WriteHeader(max(a.status, 200))
		_, _ = w.Write(answer) // the command line may have left
	})
}

func hostileID(w *world, id string) error {
	for _, args := range [][]string{{"ls", "--sessions"}, {"capture", "target"}, {"send", "target", "secret"}, {"logs", "target"}} {
		o, err := askBetween(w, id, args...)
		if err != nil {
			return fmt.Errorf("%w: %s", err, o)
		}
		if args[0] != "ls" && o.code == 0 {
			return fmt.Errorf("middleman %s believed it: %s", args[0], o)
		}
		if strings.ContainsAny(o.all(), "\x1b\x07\x00") {
			return fmt.Errorf("middleman %s printed an escape: %s", args[0], o)
		}
	}
	return must1(w.shared()).alive()
}
