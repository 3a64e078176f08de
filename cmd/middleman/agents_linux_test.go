package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cells say what is known of each agent in each state, by its hooks, its title,
// its screen, and all of them: a state, with its kind after a slash. What is
// missing is unknown.
//
// Of Claude Code no title of a dialog is documented, so its stand-in leaves the
// title of its work while it asks.
var cells = map[string]map[string]map[string]string{
	"claude": {
		"working":    {"hook": "working", "title": "working", "screen": "working", "all": "working"},
		"permission": {"hook": "waiting/permission", "title": "working", "screen": "waiting/permission", "all": "waiting/permission"},
		"question":   {"hook": "waiting/question", "title": "working", "all": "waiting/question"},
		"login":      {"hook": "waiting/login", "title": "idle", "screen": "waiting/login", "all": "waiting/login"},
		"rate limit": {"hook": "waiting/rate limit", "title": "idle", "all": "waiting/rate limit"},
		"idle":       {"hook": "idle", "title": "idle", "all": "idle"},
		"background": {"hook": "idle/background", "title": "idle", "all": "idle/background"},
		"failed":     {"hook": "failed", "title": "idle", "all": "failed"},
	},
	"codex": {
		"working":    {"hook": "working", "title": "working", "screen": "working", "all": "working"},
		"permission": {"hook": "waiting/permission", "title": "waiting", "screen": "waiting/permission", "all": "waiting"},
		"idle":       {"hook": "idle", "all": "idle"},
	},
	"gemini": {
		"working":    {"hook": "working", "screen": "working", "all": "working"},
		"permission": {"hook": "waiting/permission", "screen": "waiting/permission", "all": "waiting/permission"},
		"idle":       {"hook": "idle", "all": "idle"},
	},
	"opencode": {
		"working":    {"hook": "working", "all": "working"},
		"permission": {"hook": "waiting/permission", "all": "waiting/permission"},
		"question":   {"hook": "waiting/question", "all": "waiting/question"},
		"login":      {"hook": "waiting/login", "all": "waiting/login"},
		"rate limit": {"hook": "waiting/rate limit", "all": "waiting/rate limit"},
		"idle":       {"hook": "idle", "all": "idle"},
		"failed":     {"hook": "failed", "all": "failed"},
	},
	"amp": {
		"working":    {"title": "working", "all": "working"},
		"permission": {"title": "waiting/permission", "all": "waiting/permission"},
	},
}

// order is that of the states of a stand-in's life.
var order = []string{"working", "permission", "working", "question", "login", "rate limit", "idle", "background", "failed", "working", "idle"}

// soon is how long after a change of an agent half of the looks at its status
// may need to see it. A look is a process of its own, which takes its time too.
const soon = 500 * time.Millisecond

// cmdAgent drives the stand-in of an agent in a workspace through all its states,
// by each source of its status: agent NAME WORKSPACE.
func cmdAgent(ts *testscript.TestScript, _ bool, args []string) {
	name, workspace := args[0], args[1]
	program := name
	if name == "cursor" {
		program = "cursor-agent"
	}
	placeStandin(ts, program, name)
	before := furnish(ts)
	var took []time.Duration
	for _, source := range []string{"hook", "title", "screen", "all"} {
		s := startAgent(ts, workspace, name, name+"-"+source)
		s.is("unknown") // silence
		s.do("only " + source)
		for _, state := range order {
			if acts[name][state].screen == "" {
				continue
			}
			took = append(took, s.do(state, cells[name][state][source]))
		}
		s.run("stop", s.target)
		s.is("failed")
	}
	if after := tree(ts, ts.Getenv("HOME")); after != before {
		ts.Fatalf("%s has changed the home directory:\n%s\nwas\n%s", name, after, before)
	}
	if left := tree(ts, filepath.Join(ts.Getenv("MIDDLEMAN_HOME"), "data", "hooks")); strings.Count(left, "\n") > 1 {
		ts.Fatalf("%s: files for hooks are left:\n%s", name, left)
	}
	slices.Sort(took)
	ts.Logf("%s: %d cells; half of them within %v, the last after %v", name, len(took), took[len(took)/2], took[len(took)-1])
	if half := took[len(took)/2]; half > soon && !raced {
		ts.Fatalf("%s: half of the changes were seen after %v: that is more than %v", name, half, soon)
	}
}

// furnish puts the user's own settings of agents into the home directory, and
// returns its tree.
func furnish(ts *testscript.TestScript) string {
	home := ts.Getenv("HOME")
	for _, name := range []string{
		".claude/settings.json", ".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json", ".gemini/config/hooks.json",
		".config/opencode/opencode.json", ".copilot/hooks/mine.json", ".cursor/hooks.json", ".config/amp/plugins/mine.ts", ".aider.conf.yml",
	} {
		file := filepath.Join(home, name)
		ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
		ts.Check(os.WriteFile(file, []byte("the user's own\n"), 0o644))
	}
	return tree(ts, home)
}

// tree returns what is in a directory: names, kinds, sizes, times and contents.
// A missing directory is empty.
func tree(ts *testscript.TestScript, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(&b, "%s %v %d %v %x\n", path, info.Mode(), info.Size(), info.ModTime().UnixNano(), sha256.Sum256(data))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		ts.Fatalf("%v", err)
	}
	return b.String()
}

// placeStandin puts a stand-in into PATH, as a script that starts it.
func placeStandin(ts *testscript.TestScript, program, agent string) {
	self, err := lookPath("standin", ts.Getenv("PATH"))
	ts.Check(err)
	dir := ts.MkAbs(filepath.Join(ts.Getenv("WORK"), "agents"))
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, program), fmt.Appendf(nil, "#!/bin/sh\nexec '%s' %s \"$@\"\n", self, agent), 0o700))
	if path := ts.Getenv("PATH"); !strings.HasPrefix(path, dir+":") {
		ts.Setenv("PATH", dir+":"+path)
	}
}

// agentSession is a session that runs a stand-in.
type agentSession struct {
	ts     *testscript.TestScript
	target string
	done   int
}

// startAgent starts a profile's program, and waits until it runs.
func startAgent(ts *testscript.TestScript, workspace, profile, name string, more ...string) *agentSession {
	s := &agentSession{ts: ts, target: workspace + "/" + name}
	s.run(append([]string{"run", workspace, "-d", "--backend", ts.Getenv("BACKEND"), "--name", name, "--sandbox", "none", "-p", profile}, more...)...)
	s.run("wait", s.target, "--text", "ready ", "--timeout", "20s")
	return s
}

// run runs middleman, and returns what it prints.
func (s *agentSession) run(args ...string) string {
	out, err := command(s.ts, append([]string{"middleman"}, args...)...).CombinedOutput()
	if err != nil {
		s.ts.Fatalf("middleman %q: %v: %s", args, err, out)
	}
	return string(out)
}

// do types what the stand-in shall do, and waits until it has done it. It
// returns how long it took until the status was as wanted.
func (s *agentSession) do(line string, want ...string) time.Duration {
	s.run("send", s.target, "--enter", line)
	s.done++
	begin := time.Now()
	s.run("wait", s.target, "--text", fmt.Sprintf("did %d.", s.done), "--timeout", "20s")
	for _, status := range want {
		if status == "" {
			status = "unknown"
		}
		s.is(status)
	}
	return time.Since(begin)
}

// agentStatus is what is printed of a status.
type agentStatus struct {
	State, Kind, Source, Rule, Reason, Confidence string
}

// status returns the status that `status` prints, after it has checked that
// lists say the same.
func (s *agentSession) status() agentStatus {
	var v agentStatus
	s.ts.Check(json.Unmarshal([]byte(s.run("status", s.target, "--json")), &v))
	return v
}

// is waits until the status is a state, with its kind after a slash if that
// counts, and lists show it too.
func (s *agentSession) is(want string) agentStatus {
	state, kind, _ := strings.Cut(want, "/")
	var v agentStatus
	err := waitFor("status "+want, 20*time.Second, func() bool {
		v = s.status()
		return v.State == state && (kind == "" || v.Kind == kind)
	})
	if err != nil {
		s.ts.Fatalf("%s: %v: it is %+v, on this screen:\n%s", s.target, err, v, s.run("status", "explain", s.target))
	}
	return v
}
