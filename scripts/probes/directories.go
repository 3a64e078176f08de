//go:build linux

package main

import (
	"fmt"
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
	return append(probes, idProbes()...)
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
