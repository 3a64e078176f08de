//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// plant puts something of the second user's at path, and returns where a file that is
// written below path would be, and what undoes it.
type plant struct {
	name string
	put  func(w *world, path string) (where string, undo func())
}

func nothing() {}

// theirs makes a directory of the second user's in which everybody may write.
func theirs(path string) {
	must(os.Mkdir(path, 0o777))
	must(os.Chmod(path, 0o777))
	must(os.Chown(path, otherUID, otherUID))
}

var takenBy = []plant{
	{"directory", func(_ *world, path string) (string, func()) { theirs(path); return path, nothing }},
	{"link", func(w *world, path string) (string, func()) {
		to := w.place()
		must(os.Symlink(to, path))
		must(os.Lchown(path, otherUID, otherUID))
		return to, nothing
	}},
	{"link-away", func(w *world, path string) (string, func()) {
		to := filepath.Join(w.place(), "theirs")
		theirs(to)
		must(os.Symlink(to, path))
		return to, nothing
	}},
	{"dangling", func(w *world, path string) (string, func()) {
		to := filepath.Join(w.place(), "made")
		must(os.Symlink(to, path))
		return to, nothing
	}},
	{"fifo", func(_ *world, path string) (string, func()) {
		must(unix.Mkfifo(path, 0o666))
		must(os.Chown(path, otherUID, otherUID))
		return path, nothing
	}},
	{"socket", func(_ *world, path string) (string, func()) {
		l := must1(net.Listen("unix", path))
		must(os.Chown(path, otherUID, otherUID))
		must(os.Chmod(path, 0o777))
		return path, func() { _ = l.Close() } // nobody else has it
	}},
	{"mount", func(_ *world, path string) (string, func()) {
		must(os.Mkdir(path, 0o700))
		if err := unix.Mount("probe", path, "tmpfs", 0, fmt.Sprintf("size=1m,mode=777,uid=%d", otherUID)); err != nil {
			panic(broken{&skip{"no mount can be made here"}})
		}
		return path, func() { _ = unix.Unmount(path, unix.MNT_DETACH) } // the end of the world tells what is left
	}},
}

// takenProbes: something of another user's is in the place of each directory that
// middleman makes, before it makes it.
func takenProbes() (probes []probe) {
	for _, dir := range []string{"data", "run", "run/own", "data/sessions", "data/workspaces"} {
		for _, p := range takenBy {
			probes = append(probes, probe{id: "taken/" + strings.ReplaceAll(dir, "/", "-") + "-" + p.name, title: "in the place of " + dir + " is a " + p.name + " of another user",
				gain: "state and sockets where the attacker reads or replaces them, or a command that hangs",
				run:  func(w *world) error { return taken(w, dir, p) }})
		}
	}
	return probes
}

// taken: a start of a session is refused or goes elsewhere, nothing is written there, and
// doctor names it and fails.
func taken(w *world, dir string, p plant) error {
	w.needOther()
	home := w.place()
	path := filepath.Join(home, dir)
	must(os.MkdirAll(filepath.Dir(path), 0o700))
	where, undo := p.put(w, path)
	defer undo()
	s := &server{w: w, home: home, env: w.environ(home)}
	defer s.run("server", "stop")
	started, doctor := s.run("new", "-d", "--mode", "directory", "--backend", "pty-owner", "x", "--", "true"), s.run("doctor")
	switch entries, _ := os.ReadDir(where); { // the error is that of what is no directory
	case started.late || doctor.late:
		return fmt.Errorf("it hangs: %s; %s", started, doctor)
	case len(entries) > 0 || p.name == "dangling" && exists(where):
		return fmt.Errorf("something was written to %s: %v", where, entries)
	case started.code == 0:
		return fmt.Errorf("a session was started: %s", started)
	case doctor.code == 0 || !strings.Contains(doctor.all(), path):
		return fmt.Errorf("doctor does not name %s: %s", path, doctor)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
