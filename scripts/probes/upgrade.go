//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// candidate is an executable that an owner is asked to become. make puts one at
// or behind path.
type candidate struct {
	name, title string
	make        func(w *world, path string) string
}

var candidates = []candidate{
	{"group-writable", "an executable that its group may write", func(w *world, path string) string { return w.copyWithMode(path, 0o775) }},
	{"world-writable", "an executable that everybody may write", func(w *world, path string) string { return w.copyWithMode(path, 0o757) }},
	{"not-executable", "a file that is not executable", func(w *world, path string) string { return w.copyWithMode(path, 0o644) }},
	{"foreign", "an executable of another user's", func(w *world, path string) string {
		w.needOther()
		w.copyWithMode(path, 0o755)
		w.give(path, 0o755)
		return path
	}},
	{"link-to-foreign", "a link to an executable of another user's", func(w *world, path string) string {
		w.needOther()
		w.copyWithMode(path, 0o755)
		w.give(path, 0o755)
		must(os.Symlink(path, path+"-link"))
		return path + "-link"
	}},
	{"foreign-directory", "an executable of ours in another user's directory", func(w *world, path string) string {
		w.needOther()
		w.copyWithMode(path, 0o755)
		w.give(filepath.Dir(path), 0o755)
		return path
	}},
	{"writable-directory", "an executable of ours in a directory that everybody may write", func(w *world, path string) string {
		w.copyWithMode(path, 0o755)
		must(os.Chmod(filepath.Dir(path), 0o777))
		return path
	}},
	{"script", "a script that says what middleman would say", func(w *world, path string) string {
		executable(path, "#!/bin/sh\ncase \"$*\" in *describe*) echo '{\"build\":\"x\",\"handover\":[0]}';; *) printf ok;; esac\n")
		return path
	}},
	{"fifo", "a FIFO", func(_ *world, path string) string { fifo(path); return path }},
	{"directory", "a directory", func(_ *world, path string) string { return filepath.Dir(path) }},
	{"loop", "a link to itself", func(_ *world, path string) string { must(os.Symlink(path, path)); return path }},
	{"missing", "a file that there is not", func(_ *world, path string) string { return path }},
	{"proc", "our own descriptor in /proc", func(_ *world, path string) string { return "/proc/self/fd/0" }},
}

func (w *world) copyWithMode(path string, mode os.FileMode) string {
	must(errors.Join(copyFile(w.binary, path), os.Chmod(path, mode)))
	return path
}

func upgradeProbes() []probe {
	probes := []probe{{id: "control", title: "an executable that is ours alone is taken", control: true, gain: "nothing: it shows that the refusals below are refusals",
		run: func(w *world) error {
			s := must1(w.shared())
			_, session := s.newTarget("upgrade-control", "cat")
			reply := s.askUpgrade(session, w.copyWithMode(filepath.Join(w.place(), "middleman"), 0o755))
			if !strings.Contains(reply, `"result"`) {
				return fmt.Errorf("the owner answers %s", reply)
			}
			return nil
		}}}
	for _, c := range candidates {
		probes = append(probes, probe{id: c.name, title: "an owner becomes " + c.title, gain: "the user's sessions, for whoever can write that file", run: func(w *world) error {
			s := must1(w.shared())
			path := c.make(w, filepath.Join(w.place(), "middleman"))
			exe := fmt.Sprintf("/proc/%d/exe", s.owner(s.session).OwnerPID)
			before, _ := os.Readlink(exe) // only root may look, where owners are closed
			reply := s.askUpgrade(s.session, path)
			if !strings.Contains(reply, `"error"`) {
				return fmt.Errorf("the owner answers %s", cut(reply, 300))
			}
			if now, _ := os.Readlink(exe); now != before {
				return fmt.Errorf("the owner is %s now", now)
			}
			return s.alive()
		}})
	}
	return probes
}

// askUpgrade asks a session's owner to become an executable, and returns its
// reply.
func (s *server) askUpgrade(session, path string) string {
	c := joins(s.owner(session), "control", "")
	defer c.close()
	c.send(ownerFrame(requestFrame, fmt.Sprintf(`{"id":1,"verb":"upgrade","args":{"executable":%q}}`, path)))
	kind, payload, err := c.next()
	must(err)
	return fmt.Sprintf("frame %d %s", kind, payload)
}
