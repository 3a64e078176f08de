package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/config"
)

// expected says what is known of each agent in each state, by its hooks, its title,
// its screen, and all of them: a state, with its kind after a slash. What is
// missing is unknown.
//
// Of Claude Code no title of a dialog is documented, so its stand-in leaves the
// title of its work while it asks. Its title of an idle prompt counts beside the prompt
// alone: newer versions have no other.
var expected = map[string]map[string]map[string]string{
	"claude": {
		"working":    {"hook": "working", "title": "working", "screen": "working", "all": "working"},
		"permission": {"hook": "waiting/permission", "title": "working", "screen": "waiting/permission", "all": "waiting/permission"},
		"question":   {"hook": "waiting/question", "title": "working", "all": "waiting/question"},
		"login":      {"hook": "waiting/login", "screen": "waiting/login", "all": "waiting/login"},
		"rate limit": {"hook": "waiting/rate limit", "all": "waiting/rate limit"},
		"idle":       {"hook": "idle", "all": "idle"},
		"background": {"hook": "idle/background", "all": "idle/background"},
		"failed":     {"hook": "failed", "all": "failed"},
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
	"agy": {
		"working":    {"screen": "working", "all": "working"},
		"permission": {"screen": "waiting/permission", "all": "waiting/permission"},
	},
	"copilot": {
		"working":  {"screen": "working", "all": "working"},
		"question": {"screen": "waiting/question", "all": "waiting/question"},
	},
	"cursor": {
		"working":    {"screen": "working", "all": "working"},
		"permission": {"screen": "waiting/permission", "all": "waiting/permission"},
	},
	"amp": {
		"working":    {"title": "working", "all": "working"},
		"permission": {"title": "waiting/permission", "all": "waiting/permission"},
	},
}

// order is that of the states of a stand-in's life.
var order = []string{"working", "permission", "working", "question", "login", "rate limit", "idle", "background", "failed", "working", "idle"}

// soon is how long after an agent begins to change its event may come. The time of
// its hook, a process of its own, counts. Where processes take long to start, as on
// a machine with other work, the last one may take as long as startsWithin of them.
const (
	soon         = 500 * time.Millisecond
	startsWithin = 10
)

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
	changes := follow(ts)
	defer changes.stop()
	var took []time.Duration
	cells := 0
	for _, source := range []string{"hook", "title", "screen", "all"} {
		s := startAgent(ts, workspace, name, name+"-"+source)
		s.changes = changes
		s.is("unknown") // silence
		s.do("only " + source)
		times := s.live(name, source)
		cells += len(times)
		// A machine may stand still for a moment: what was late is given two more lives.
		for again := 0; again < 2 && len(times) > 0 && slices.Max(times) > soon; again++ {
			for i, after := range s.live(name, source) {
				if after > 0 {
					times[i] = min(times[i], after)
				}
			}
		}
		for _, after := range times {
			if after > 0 {
				took = append(took, after)
			}
		}
		s.run("stop", s.target)
		s.is("stopped")
	}
	if after := tree(ts, ts.Getenv("HOME")); after != before {
		ts.Fatalf("%s has changed the home directory:\n%s\nwas\n%s", name, after, before)
	}
	hooks := filepath.Join(ts.Getenv("MIDDLEMAN_HOME"), "data", "hooks") // the server removes them once it knows of the end
	if err := waitFor("end of the files for hooks", patience, func() bool { return strings.Count(tree(ts, hooks), "\n") <= 1 }); err != nil {
		ts.Fatalf("%s: %v:\n%s", name, err, tree(ts, hooks))
	}
	if len(took) > 0 { // of some nothing can be known, so nothing changes
		inTime(ts, fmt.Sprintf("%s: %d cells", name, cells), took)
	}
}

// live takes a stand-in through its states, and returns how long after each change
// its event came, 0 where nothing changed.
func (s *agentSession) live(name, source string) []time.Duration {
	var took []time.Duration
	for _, state := range order {
		if acts[name][state].screen != "" {
			took = append(took, s.do(state, expected[name][state][source]))
		}
	}
	return took
}

// inTime logs how long after changes their events came, and checks the half and the
// last of them.
func inTime(ts *testscript.TestScript, what string, took []time.Duration) {
	slices.Sort(took)
	at := func(percent int) time.Duration { return took[(len(took)-1)*percent/100].Round(time.Millisecond) }
	start := startTime(ts)
	ts.Logf("%s, %d changes: 50%% within %v, 90%% %v, 99%% %v, the last %v; a process starts in %v",
		what, len(took), at(50), at(90), at(99), at(100), start)
	last := max(soon, startsWithin*start)
	if (at(50) > soon || at(100) > last) && !raced {
		ts.Fatalf("%s: half of the changes were told after %v, the last after %v: more than %v, %v", what, at(50), at(100), soon, last)
	}
}

// startTime is how long middleman takes to start now: the median of some.
func startTime(ts *testscript.TestScript) time.Duration {
	took := make([]time.Duration, 9)
	for i := range took {
		began := time.Now()
		ts.Check(command(ts, "middleman", "version").Run())
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// changes are the events of a server's sessions.
type changes struct {
	end  context.CancelFunc
	done chan error
	mu   sync.Mutex // guards the fields below
	list []api.Event
	more chan struct{} // closed when the list grows
}

// follow follows the events of the server.
func follow(ts *testscript.TestScript) *changes {
	serve, err := client.ReadServe(config.Dirs{Runtime: filepath.Join(ts.Getenv("MIDDLEMAN_HOME"), "run")})
	ts.Check(err)
	server := client.New(serve.Socket)
	ctx, end := context.WithCancel(context.Background())
	c := &changes{end: end, done: make(chan error, 1), more: make(chan struct{})}
	begun := make(chan struct{})
	var once sync.Once
	go func() {
		defer server.Close()
		_, err := server.Events(ctx, "none", func(_ string, e api.Event) error { // told at once that events are missing
			once.Do(func() { close(begun) })
			c.mu.Lock()
			defer c.mu.Unlock()
			c.list = append(c.list, e)
			close(c.more)
			c.more = make(chan struct{})
			return nil
		})
		c.done <- err
	}()
	select {
	case <-begun:
	case err := <-c.done:
		ts.Fatalf("follow the events: %v", err)
	}
	return c
}

func (c *changes) stop() {
	c.end()
	<-c.done
}

// await waits for an event that says that a session's agent is as wanted, after a
// time, and returns when it came.
func (c *changes) await(ts *testscript.TestScript, session, want string, after time.Time) time.Time {
	late := time.After(patience)
	for {
		c.mu.Lock()
		list, more := c.list, c.more
		c.mu.Unlock()
		for _, e := range list {
			if e.Session != nil && e.Session.ID == session && !e.Time.Before(after) && isStatus(e.Session.Agent, want) {
				return e.Time
			}
		}
		select {
		case <-more:
		case <-late:
			ts.Fatalf("no event says that session %s is %s", session, want)
		}
	}
}

// isStatus reports whether a status is as wanted: a state, with its kind after a
// slash if that counts. Nil is unknown.
func isStatus(got *agent.Status, want string) bool {
	state, kind, _ := strings.Cut(want, "/")
	if got == nil {
		return state == string(agent.Unknown)
	}
	return string(got.State) == state && (kind == "" || string(got.Kind) == kind)
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
	ts      *testscript.TestScript
	target  string
	done    int
	changes *changes    // nil if nobody measures
	now     agentStatus // the last status that was seen
}

// startAgent starts a profile's program, and waits until it runs.
func startAgent(ts *testscript.TestScript, workspace, profile, name string, more ...string) *agentSession {
	s := &agentSession{ts: ts, target: workspace + "/" + name}
	s.run(append([]string{"run", workspace, "-d", "--backend", ts.Getenv("BACKEND"), "--name", name, "--sandbox", "none", "-p", profile}, more...)...)
	s.run("wait", s.target, "--text", "ready ", "--timeout", "60s")
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

// do types what the stand-in shall do, and waits until it has done it and the status
// is as wanted. If it is measured, do returns how long after it began to change the
// event came, 0 for no change.
func (s *agentSession) do(line string, want ...string) (after time.Duration) {
	s.run("send", s.target, "--enter", line)
	s.done++
	s.run("wait", s.target, "--text", fmt.Sprintf("did %d.", s.done), "--timeout", "60s")
	for _, status := range want {
		if status == "" {
			status = "unknown"
		}
		before := &agent.Status{State: agent.State(s.now.State), Kind: agent.Kind(s.now.Kind)}
		if s.changes != nil && !isStatus(before, status) {
			began := s.began()
			after = s.changes.await(s.ts, s.now.Session, status, began).Sub(began)
		}
		s.is(status)
	}
	return after
}

// began is when the stand-in began with what it did last.
func (s *agentSession) began() time.Time {
	shown := s.run("capture", s.target)
	_, text, found := strings.Cut(shown, fmt.Sprintf("did %d. ", s.done))
	text, _, _ = strings.Cut(text, "\n")
	at, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || !found {
		s.ts.Fatalf("%s does not say when it did %d: %s", s.target, s.done, shown)
	}
	return time.Unix(0, at)
}

// agentStatus is what is printed of a status.
type agentStatus struct {
	Session, State, Kind, Source, Rule, Reason, Confidence string
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
	var v agentStatus
	err := waitFor("status "+want, patience, func() bool {
		v = s.status()
		return isStatus(&agent.Status{State: agent.State(v.State), Kind: agent.Kind(v.Kind)}, want)
	})
	s.now = v
	if err != nil {
		s.ts.Fatalf("%s: %v: it is %+v, on this screen:\n%s", s.target, err, v, s.run("status", "explain", s.target))
	}
	return v
}
