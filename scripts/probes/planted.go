//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// plantListener starts a server of the second user's in its place, and returns
// where it records what it is told, and its socket.
func (w *world) plantListener(place string) (record, socket string) {
	record, socket = filepath.Join(place, "record"), filepath.Join(place, "s")
	cmd := w.asOther(w.self, helperMode, "listen", socket, record)
	out := must1(cmd.StdoutPipe())
	must(cmd.Start())
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		must(fmt.Errorf("a listener of the second user's said %q: %w", line, err))
	}
	return record, socket
}

// canary is a program that leaves a trace when it runs, as whoever runs it, and
// a process with a child that must live: what is planted names no other, because
// whoever believes it may kill what descends from there.
type canary struct {
	program, trace string
	victim         *exec.Cmd
}

func (w *world) newCanary() canary {
	dir := w.place()
	must(os.Chmod(dir, 0o777))
	c := canary{program: filepath.Join(dir, "canary"), trace: filepath.Join(dir, "trace"), victim: exec.Command("/bin/sh", "-c", "sleep 1000; :")}
	c.victim.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	must(c.victim.Start())
	go c.victim.Wait() // it ends with the world, or is killed
	executable(c.program, fmt.Sprintf("#!/bin/sh\necho \"$0 $*\" >> '%s'\n", c.trace))
	return c
}

// pid is the victim's.
func (c canary) pid() int { return c.victim.Process.Pid }

// sang returns evidence where the canary has run, or its victim was killed.
func (c canary) sang(by string) error {
	if _, _, state, ok := readStat(fmt.Sprintf("/proc/%d/stat", c.pid())); !ok || state == "Z" {
		return fmt.Errorf("%s killed the process that a planted file names", by)
	}
	raw, err := os.ReadFile(c.trace)
	if os.IsNotExist(err) {
		return nil
	}
	must(err)
	must(os.Remove(c.trace))
	return fmt.Errorf("%s ran the planted program: %s", by, cut(string(raw), 400))
}

// plantedSession is the one in a planted home.
const plantedSession = "sey2eg8ghn0xbb3tz"

// plantHome is a home of the second user's with a server and a session's owner
// that record, and settings that name the canary.
func (w *world) plantHome(c canary) (home, record string) {
	home = w.otherPlace(0o755)
	run, state := filepath.Join(home, "run"), filepath.Join(home, "data", "sessions", plantedSession)
	for _, dir := range []string{run, filepath.Join(state, "journal"), filepath.Join(home, "config"), filepath.Join(home, "data", "workspaces")} {
		must(os.MkdirAll(dir, 0o755))
	}
	w.giveTree(home)
	record, socket := w.plantListener(home)
	must(os.Rename(socket, filepath.Join(run, "middleman.sock")))
	socket = filepath.Join(run, "middleman.sock")
	write(filepath.Join(run, "serve.json"), fmt.Sprintf(`{"address":"127.0.0.1:1","socket":%q,"pid":%d,"version":"x"}`, socket, c.pid()))
	c.plantSession(state)
	must(os.Link(socket, filepath.Join(state, "owner.sock")))
	write(filepath.Join(home, "config", "tmux.conf"), "run-shell '"+c.program+" tmux.conf'\nset-option -g default-command '"+c.program+" default-command'\n")
	write(filepath.Join(home, "config", "config.toml"), "backend = \"tmux\"\n")
	w.giveTree(home)
	return home, record
}

// plantSession makes state of a session on tmux whose owner, as it says, is the
// victim and listens in the state directory. A lock that is held says that it
// runs.
func (c canary) plantSession(state string) {
	write(filepath.Join(state, "host"), "tmux")
	write(filepath.Join(state, "owner.json"), fmt.Sprintf(`{"format":1,"min_protocol":1,"max_protocol":9,"features":[],"owner_pid":%d,"socket":%q,"token":"t","created":"2026-01-01T00:00:00Z","argv":["cat"],"dir":"/","size":{"cols":80,"rows":24},"host":"tmux"}`,
		c.pid(), filepath.Join(state, "owner.sock")))
	for _, name := range []string{"start.lock", "owner.lock", "host.lock"} {
		write(filepath.Join(state, name), "")
	}
}

// lock takes the lock that proves a session's life, until the function that it
// returns is called.
func lock(path string) func() {
	f := must1(os.OpenFile(path, os.O_RDWR, 0))
	must(syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	return func() { f.Close() }
}

// giveTree hands all of a directory to the second user.
func (w *world) giveTree(root string) {
	must(filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode()&(os.ModeSymlink|os.ModeSocket) == 0 {
			w.give(path, info.Mode().Perm())
		}
		return err
	}))
}

func foreignProbes() []probe {
	probes := []probe{{id: "control", title: "the planted program and server do notice", control: true,
		gain: "nothing: it shows that silence below is silence", run: foreignControl}}
	for _, args := range [][]string{
		{"ls"}, {"ls", "--all", "--sessions", "--json"}, {"show", plantedSession}, {"capture", plantedSession}, {"send", plantedSession, "the-users-secret"},
		{"attach", plantedSession}, {"watch", plantedSession}, {"logs", plantedSession}, {"wait", plantedSession, "--timeout", "1s"}, {"stop", plantedSession},
		{"search", "x"}, {"export", plantedSession}, {"doctor"}, {"new", "-d", "--mode", "directory", "x", "--", "the-users-command"}, {"run", "x", "-d", "--", "the-users-command"},
		{"rm", "x"}, {"restore", "x"}, {"retry", "x"}, {"diff", "x"}, {"prune", "-n"}, {"repair"}, {"import"}, {"open"}, {"upgrade"}, {"trust"}, {"serve", "--listen", "127.0.0.1:0"},
		{"__complete", "attach", ""},
	} {
		gain := "the user's own rights: what a foreign file names is executed, or a foreign server is told what to run"
		name := strings.TrimLeft(args[0], "_")
		if len(args) > 1 && args[0] == "ls" {
			name = "ls-all"
		}
		probes = append(probes, probe{id: "home/" + name, title: "middleman " + args[0] + " with another user's MIDDLEMAN_HOME", gain: gain,
			run: func(w *world) error { return foreignState(w, "MIDDLEMAN_HOME", args) }})
		switch name {
		case "ls", "ls-all", "show", "capture", "send", "attach", "watch", "logs", "wait", "stop", "search", "export", "doctor", "upgrade", "complete":
			probes = append(probes, probe{id: "state/" + name, title: "middleman " + args[0] + " on a planted session, with no server", gain: "a program that another user's file names, run as the user",
				run: func(w *world) error { return foreignState(w, "", args) }})
		}
		switch name {
		case "ls", "capture", "new", "doctor", "serve", "open":
			probes = append(probes, probe{id: "runtime/" + name, title: "middleman " + args[0] + " with another user's XDG_RUNTIME_DIR", gain: gain,
				run: func(w *world) error { return foreignState(w, "XDG_RUNTIME_DIR", args) }})
		}
	}
	return probes
}

func foreignControl(w *world) error {
	c := w.newCanary()
	home, record := w.plantHome(c)
	o := collect(w.asOther("/bin/sh", "-c", `"$1"; exec "$2" helper connect "$3" </dev/null`, "sh", c.program, w.self, filepath.Join(home, "run", "middleman.sock")))
	if c.sang("control") == nil {
		return fmt.Errorf("the planted program left no trace: %s", o)
	}
	w.other("the-users-secret", "connect", filepath.Join(home, "run", "middleman.sock"))
	if raw := string(must1(os.ReadFile(record))); !strings.Contains(raw, "the-users-secret") {
		return fmt.Errorf("the planted server recorded %q", raw)
	}
	return nil
}

// foreignState runs a command in the environment that `su` without `-` leaves.
// Without a variable the home has no server, and its session seems to run.
func foreignState(w *world, variable string, args []string) error {
	w.needOther()
	c := w.newCanary()
	home, record := w.plantHome(c)
	own := w.place()
	cmd := exec.Command(w.binary, args...)
	cmd.Dir = w.tmp()
	if cmd.Env = w.environ(home); variable == "XDG_RUNTIME_DIR" {
		must(os.Rename(filepath.Join(home, "run"), filepath.Join(home, "middleman")))
		cmd.Env = append(w.environ(""), "XDG_RUNTIME_DIR="+home, "XDG_DATA_HOME="+filepath.Join(own, "data"), "XDG_CONFIG_HOME="+filepath.Join(own, "config"))
	}
	if variable == "" {
		must(os.RemoveAll(filepath.Join(home, "run")))
		defer lock(filepath.Join(home, "data", "sessions", plantedSession, "owner.lock"))()
	}
	var o output
	switch args[0] {
	case "attach", "watch":
		o = onTerminal(cmd, 5*time.Second)
	case "serve":
		o = collectWithin(cmd, 5*time.Second) // it goes on, where it is not refused
	default:
		o = collectWithin(cmd, 20*time.Second)
	}
	by := "middleman " + strings.Join(args, " ")
	if err := c.sang(by); err != nil {
		return fmt.Errorf("%w\n%s", err, o)
	}
	if raw, _ := os.ReadFile(record); len(raw) > 0 {
		return fmt.Errorf("%s told the planted server %q\n%s", by, cut(string(raw), 300), o)
	}
	if o.late && args[0] == "serve" {
		return fmt.Errorf("%s went on in another user's directory\n%s", by, o)
	}
	return nil
}
