//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func secretProbes() []probe {
	probes := []probe{{id: "control", title: "a second user reads what is open to all", control: true,
		gain: "nothing: it shows that the refusals below are refusals", run: func(w *world) error {
			path := filepath.Join(w.place(), "open")
			must(os.Chmod(filepath.Dir(path), 0o755))
			write(path, "readable")
			w.needOther()
			if o := w.other("", "read", path); o.stdout != "readable" {
				return fmt.Errorf("%s", o)
			}
			return nil
		}}}
	for _, f := range []struct{ path, gain string }{
		{"run/serve.json", "where the server is, and its version"}, {"data/instance.json", "the server's own name"},
		{"data/middleman.db", "hashes of tokens, and all workspaces"}, {"data/middleman.db-wal", "what was written last"}, {"data/server.log", "what the server says"},
		{"data/sessions/SESSION/owner.json", "the owner's token, hence the session"}, {"data/sessions/SESSION/journal", "everything that a session has printed"},
		{"data/sessions", "which sessions there are"}, {"data/workspaces", "the user's work"},
	} {
		probes = append(probes, probe{id: "file/" + strings.ReplaceAll(strings.ReplaceAll(f.path, "/", "-"), "SESSION", "S"), title: "a second user reads " + f.path, gain: f.gain,
			run: func(w *world) error { return readsFile(must1(w.shared()), f.path) }})
	}
	for _, p := range []struct{ name, file, gain string }{
		{"server", "environ", "tokens of the shell that started the server"}, {"server", "mem", "every secret that the server knows"}, {"server", "cwd", "where it runs"}, {"server", "fd", "what it has open"},
		{"owner", "environ", "the session's environment"}, {"owner", "mem", "the owner's token and the screen"}, {"owner", "fd", "the session's terminal"},
		{"program", "environ", "what was given to the program alone"},
	} {
		probes = append(probes, probe{id: "proc/" + p.name + "-" + p.file, title: "a second user reads /proc/PID/" + p.file + " of the " + p.name, gain: p.gain,
			run: func(w *world) error { return readsProc(must1(w.shared()), p.name, p.file) }})
	}
	return append(probes,
		probe{id: "modes", title: "no file of ours has a bit for others", gain: "state read, or written, by other users", run: func(w *world) error { return closedFiles(must1(w.shared()).home) }},
		probe{id: "modes-umask-0", title: "no file of ours has a bit for others where the umask is 0", gain: "state written by other users", run: func(w *world) error {
			s := w.fresh(serverOptions{wrap: []string{"/bin/sh", "-c", `umask 0; exec "$@"`, "sh"}, target: true})
			defer s.stop()
			s.run("new", "-d", "--mode", "directory", "--backend", "auto", "other", "--", "cat")
			return closedFiles(s.home)
		}},
		probe{id: "argv", title: "no secret in the arguments of any of our processes", gain: "a login or a token for everybody who lists processes", run: secretsInArguments},
		probe{id: "argv-open", title: "the login link is not in the arguments of the browser's opener", gain: "the login, spent first by whoever polls /proc", run: linkInArguments},
		probe{id: "log", title: "no login link and no token in what the server logs", gain: "a login for everybody who reads a log", run: secretsInLog},
		probe{id: "database", title: "no login link, and no token, as such in the database", gain: "a login for who has a backup", run: secretsInDatabase})
}

func readsFile(s *server, path string) error {
	return unread(s.w.other("", "read", s.path(path)))
}

// unread: the second user was told nothing.
func unread(o output) error {
	if o.code != 0 && o.stdout == "" {
		return nil
	}
	return fmt.Errorf("the second user has read %q", cut(o.stdout, 300))
}

func readsProc(s *server, whose, file string) error {
	pid := s.cmd.Process.Pid
	if whose != "server" {
		pid = s.owner(s.session).OwnerPID
	}
	if whose == "program" {
		var v struct{ PID int }
		a := s.local("GET", "/api/v1/sessions/"+s.session, "")
		unmarshal(a.body, &v)
		pid = v.PID
	}
	verb := "read"
	if file == "fd" || file == "cwd" {
		verb = "list"
	}
	return unread(s.w.other("", verb, fmt.Sprintf("/proc/%d/%s", pid, file)))
}

// closedFiles walks a home. What a workspace's directory holds is the user's,
// behind a directory that is closed.
func closedFiles(home string) error {
	return filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it was just replaced
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
			return fmt.Errorf("%s has mode %04o", path, info.Mode().Perm())
		}
		if filepath.Base(filepath.Dir(path)) == "workspaces" && e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

// secretsInArguments looks at all processes while commands run.
func secretsInArguments(w *world) error {
	s := w.fresh(serverOptions{target: true})
	defer s.stop()
	secrets := []string{linkToken(s.link), s.owner(s.session).Token}
	seen := watchArguments(func() {
		secrets = append(secrets, linkToken(s.newLink()))
		s.ok("ls")
		s.ok("capture", s.session)
		s.ok("new", "-d", "--mode", "directory", "another", "--", "cat")
		secrets = append(secrets, linkToken(strings.TrimSpace(s.ok("open").stdout)))
	})
	for _, secret := range secrets {
		if secret != "" && strings.Contains(seen, secret) {
			return fmt.Errorf("%q is in the arguments of a process", secret)
		}
	}
	return nil
}

// watchArguments is what /proc/*/cmdline says while f runs.
func watchArguments(f func()) string {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // the probe meets it again
		f()
	}()
	var seen strings.Builder
	for {
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well-formed
		for _, path := range lines {
			raw, _ := os.ReadFile(path) // it may have ended
			seen.Write(raw)
		}
		select {
		case <-done:
			return seen.String()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// linkInArguments has an opener that notes its arguments, and what a file that
// it is given is like.
func linkInArguments(w *world) error {
	s := w.fresh(serverOptions{})
	defer s.stop()
	bin := w.place()
	note := filepath.Join(bin, "note")
	executable(filepath.Join(bin, "xdg-open"), "#!/bin/sh\nprintf '%s\\n' \"$@\" > "+note+"\nfor f; do f=${f#file://}; [ -e \"$f\" ] && stat -c 'mode %a' \"$f\" >> "+note+"; done\n:\n")
	cmd := s.command("open")
	cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"), "DISPLAY=:99")
	o := collect(cmd)
	raw, err := os.ReadFile(note)
	if err != nil {
		return fmt.Errorf("no opener was run: %w: %s", err, o)
	}
	if m := regexp.MustCompile(`token=|login=|#|mode [0-9]*[1-7][0-9]$|mode [0-9]*[1-7]$`).Find(raw); m != nil {
		return fmt.Errorf("its arguments and file: %s", raw)
	}
	return nil
}

func secretsInLog(w *world) error {
	s := w.fresh(serverOptions{target: true})
	defer s.stop()
	secrets := []string{linkToken(s.link), s.owner(s.session).Token}
	for _, line := range s.login() {
		_, secret, _ := strings.Cut(line, " ")
		secrets = append(secrets, secret[strings.LastIndexAny(secret, " =")+1:])
	}
	s.send(request{method: "GET", path: "/api/v1/workspaces", headers: []string{"Authorization: Bearer logged-secret-of-mine"}})
	return s.nowhere(append(secrets, "logged-secret-of-mine"), "owner.json")
}

// nowhere looks for secrets in all files of the home but those named so.
func (s *server) nowhere(secrets []string, except string) error {
	return filepath.WalkDir(s.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == except {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil // it was just replaced
		}
		for _, secret := range secrets {
			if len(secret) > 8 && strings.Contains(string(raw), secret) {
				return fmt.Errorf("%s has %q", path, secret)
			}
		}
		return nil
	})
}

func secretsInDatabase(w *world) error {
	s := w.fresh(serverOptions{})
	defer s.stop()
	link := s.newLink()
	return s.nowhere([]string{linkToken(link)}, "")
}
