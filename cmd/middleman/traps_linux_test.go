package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"middleman/internal/api"
)

// key types bytes as they are.
func (s *agentSession) key(bytes string) {
	cmd := command(s.ts, "middleman", "send", s.target, "-")
	cmd.Stdin = strings.NewReader(bytes)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.ts.Fatalf("send %q to %s: %v: %s", bytes, s.target, err, out)
	}
	s.done++
	s.run("wait", s.target, "--text", fmt.Sprintf("did %d.", s.done), "--timeout", "60s")
}

// stays checks that the status is what it was although something happened that
// the server was told of: it reads the status until one is read that was made
// after the time now.
func (s *agentSession) stays(want string) {
	state, _, _ := strings.Cut(want, "/")
	s.run("wait", s.target, "--quiet", "300ms", "--timeout", "60s") // the server looks within that time
	if v := s.status(); v.State != state {
		s.ts.Fatalf("%s: %+v, want %s", s.target, v, want)
	}
	s.is(want)
}

// refuses checks that a prompt is refused, and why.
func (s *agentSession) refuses(why string) {
	out, err := command(s.ts, "middleman", "send", s.target, "--prompt", "also run the tests").CombinedOutput()
	if exitStatus(err) != 3 || !strings.Contains(string(out), why) {
		s.ts.Fatalf("send --prompt to %s: %v: %s", s.target, err, out)
	}
}

// traps are what goes wrong where an agent's status is guessed.
var traps = map[string]func(ts *testscript.TestScript, workspace string){
	"esc": func(ts *testscript.TestScript, workspace string) {
		for _, tt := range []struct{ agent, channels, want string }{
			{"claude", "hook title screen", "idle"}, // its title tells
			{"claude", "hook screen", "idle"},       // its screen tells
			{"claude", "hook", "working"},           // nothing tells, for now
			{"codex", "hook", "idle"},               // Interrupt tells
			{"codex", "hook title screen", "idle"},  // the same
			{"codex", "title screen", "idle"},       // its screen tells
			{"gemini", "hook screen", "unknown"},    // no hook tells, but the screen shows the work no more
			{"amp", "title screen", "unknown"},      //
		} {
			name := "esc-" + tt.agent + "-" + strings.ReplaceAll(tt.channels, " ", "")
			placeStandin(ts, tt.agent, tt.agent)
			s := startAgent(ts, workspace, tt.agent, name)
			s.do("only " + tt.channels)
			s.do("working", "working")
			s.key("\x1b")
			s.is(tt.want)
			s.run("stop", s.target)
		}
	},
	"dialog": func(ts *testscript.TestScript, workspace string) {
		placeStandin(ts, "claude", "claude")
		s := startAgent(ts, workspace, "claude", "dialog")
		s.do("idle", "idle")
		s.do("scroll") // the dialog is in old scrollback
		s.stays("idle")
		s.do("quote") // it is part of what was printed
		s.stays("idle")
		s.do("above") // it is what was printed last
		s.stays("idle")
		// A real one is one whichever option is selected, whatever rows there are like a
		// prompt, and whatever the title says.
		s.do("permission", "waiting/permission")
		s.do("second")
		s.stays("waiting/permission")
		s.refuses("it is waiting (permission)")
		s.do("idle", "idle")
		s.do("question", "waiting/question") // no rule knows that screen
		s.do("star")
		s.stays("waiting/question")
		s.refuses("it is waiting (question)")
		// A real one is answered by its own key, and by Esc.
		s.do("permission", "waiting/permission")
		s.key("1")
		s.is("working")
		s.do("permission", "waiting/permission")
		s.key("\x1b")
		s.is("idle")
		s.run("stop", s.target)
	},
	"hooks": func(ts *testscript.TestScript, workspace string) {
		placeStandin(ts, "claude", "claude")
		s := startAgent(ts, workspace, "claude", "hooks")
		s.do("only hook")
		s.do("working", "working")
		s.do("event Tomorrow")
		s.stays("working")
		if out := s.run("doctor"); !strings.Contains(out, "Tomorrow of claude") {
			ts.Fatalf("doctor does not name the unknown event: %s", out)
		}
		s.do("broken")
		s.stays("working")
		s.do("large 1048576", "waiting/permission")
		if v := s.status(); v.Reason != "Write: /w/large" {
			ts.Fatalf("%+v", v)
		}
		s.do("event Notification")
		s.stays("waiting/permission")
		// Another session's token tells nothing of this one.
		id := s.shown().ID
		s.run("run", workspace, "-d", "--name", "stranger", "--", "sh", "-c",
			`echo '{"session_id":"x","hook_event_name":"Stop"}' | MIDDLEMAN_SESSION=`+id+` middleman report --agent claude --verbose; sleep 1000`)
		s.run("wait", workspace+"/stranger", "--text", "middleman:", "--timeout", "60s") // it was refused
		s.run("stop", workspace+"/stranger")
		s.stays("waiting/permission")
		s.run("stop", s.target)
	},
	"restart": func(ts *testscript.TestScript, workspace string) {
		placeStandin(ts, "claude", "claude")
		s := startAgent(ts, workspace, "claude", "restart")
		s.do("only hook")
		s.do("permission", "waiting/permission")
		restart(ts, s)
		if v := s.is("waiting/permission"); v.Source != "hook" {
			ts.Fatalf("%+v", v)
		}
		s.do("working", "working") // hooks find the new server
		s.do("only hook title screen")
		s.do("permission", "waiting/permission")
		restart(ts, s)
		s.is("waiting/permission")
		s.key("\x1b")
		s.is("idle")
		s.do("working", "working")
		pid := s.shown().PID
		ts.Check(unix.Kill(pid, unix.SIGKILL))
		if v := s.is("failed"); !strings.Contains(v.Reason, "SIGKILL") {
			ts.Fatalf("%+v", v)
		}
	},
	"resume": func(ts *testscript.TestScript, workspace string) {
		for _, agent := range []string{"claude", "codex"} {
			placeStandin(ts, agent, agent)
			s := startAgent(ts, workspace, agent, "resume-"+agent)
			s.do("only hook")
			s.do("working", "working") // the conversation is known by now
			conversation := s.shown().Conversation
			if len(conversation) != 36 {
				ts.Fatalf("conversation %q", conversation)
			}
			s.run("stop", s.target)
			started := strings.Fields(s.run("resume", s.target, "-d", "--backend", ts.Getenv("BACKEND")))
			again := &agentSession{ts: ts, target: started[len(started)-1]}
			again.run("wait", again.target, "--text", "ready "+conversation, "--timeout", "60s")
			again.do("only hook")
			again.do("permission", "waiting/permission")
			again.run("stop", again.target)
		}
	},
	"files": func(ts *testscript.TestScript, workspace string) {
		hooks := filepath.Join(ts.Getenv("MIDDLEMAN_HOME"), "data", "hooks")
		placeStandin(ts, "gemini", "gemini")
		s := startAgent(ts, workspace, "gemini", "files")
		if got := tree(ts, hooks); !strings.Contains(got, "settings.json -rw------- ") || strings.Count(got, "drwx------ ") != 2 {
			ts.Fatalf("%s", got)
		}
		// It ends while no server runs. The next one clears up.
		cmdKillServer(ts, false, nil)
		ts.Check(unix.Kill(s.shown().PID, unix.SIGKILL))
		s.run("open")
		ts.Check(waitFor("removal of "+hooks, patience, func() bool { return strings.Count(tree(ts, hooks), "\n") == 1 }))
		// Where the user has set what leads the program to hooks, that stays.
		placeStandin(ts, "opencode", "opencode")
		own := ts.MkAbs("own-opencode")
		ts.Check(os.MkdirAll(own, 0o700))
		out := s.run("run", workspace, "-d", "--backend", ts.Getenv("BACKEND"), "--name", "own", "--sandbox", "none", "-p", "opencode", "--env", "OPENCODE_CONFIG_DIR="+own)
		if !strings.Contains(out, "OPENCODE_CONFIG_DIR is set") {
			ts.Fatalf("nothing is said: %s", out)
		}
		o := &agentSession{ts: ts, target: workspace + "/own"}
		o.run("wait", o.target, "--text", "ready ", "--timeout", "60s")
		o.do("working", "unknown")
		o.run("stop", o.target)
		if got := tree(ts, own); strings.Count(got, "\n") != 1 {
			ts.Fatalf("%s", got)
		}
	},
	"record": recordAgent,
	"approvals": func(ts *testscript.TestScript, workspace string) {
		for _, agent := range []string{"claude", "codex"} {
			placeStandin(ts, "asking-"+agent, agent)
			s := startAgent(ts, workspace, "asking-"+agent, "asking-"+agent) // approvals = true
			s.do("may git status", "working")                                // a rule allows it
			s.run("send", s.target, "--enter", "may make install")
			s.is("waiting/permission")
			ts.Check(waitFor("request", patience, func() bool { return strings.Contains(s.run("approvals"), "make install") }))
			s.run("approve", "--yes")
			s.done++
			s.run("wait", s.target, "--text", fmt.Sprintf("did %d.", s.done), "--timeout", "60s")
			s.is("working")
			s.run("stop", s.target)
		}
	},
	"wrapper": func(ts *testscript.TestScript, workspace string) {
		placeStandin(ts, "wrapper", "claude")
		s := startAgent(ts, workspace, "wrapped", "wrapped") // like = "claude"
		s.do("only hook")
		s.do("working", "working")
		s.do("permission", "waiting/permission")
		s.run("stop", s.target)
		s = startAgent(ts, workspace, "plain", "plain") // the same without like
		s.do("working", "unknown")
		s.do("permission", "unknown")
		s.run("stop", s.target)
	},
}

// restart kills the server and starts another one.
func restart(ts *testscript.TestScript, s *agentSession) {
	cmdKillServer(ts, false, nil)
	s.run("open")
}

// recordAgent records a stand-in while it runs, with marks of what it does, and
// judges the recording.
func recordAgent(ts *testscript.TestScript, workspace string) {
	placeStandin(ts, "claude", "claude")
	s := startAgent(ts, workspace, "claude", "record")
	if out := s.run("profile", "show", "claude"); !strings.Contains(out, "never run against the real program") {
		ts.Fatalf("%s", out)
	}
	file := ts.MkAbs("recording.cast")
	r := startRecording(ts, s, file)
	for _, state := range []string{"working", "permission", "idle", "background"} {
		mark := strings.ReplaceAll(expected["claude"][state]["all"], "/", " ")
		s.do(state, expected["claude"][state]["all"])
		r.mark(mark)
	}
	r.end()
	out := s.judge(file, 0)
	if !strings.Contains(out, "4 right, 0 wrong, 0 unknown, of 1.0.0 (stand-in)") || !strings.Contains(out, "waiting (permission)") {
		ts.Fatalf("%s", out)
	}
	if out := s.run("profile", "list"); !strings.Contains(out, "right with 1.0.0 (stand-in)") {
		ts.Fatalf("%s", out)
	}
	wrong := ts.MkAbs("wrong.cast")
	r = startRecording(ts, s, wrong)
	s.do("permission", "waiting/permission")
	r.mark("idle")
	r.end()
	if out := s.judge(wrong, 1); !strings.Contains(out, "1 of 1 marks were judged to be another state") {
		ts.Fatalf("%s", out)
	}
	s.run("stop", s.target)
}

// recordingOf is a recording that is being made.
type recordingOf struct {
	ts   *testscript.TestScript
	cmd  *exec.Cmd
	in   io.WriteCloser
	errs *bufio.Reader
}

func startRecording(ts *testscript.TestScript, s *agentSession, file string) *recordingOf {
	r := &recordingOf{ts: ts, cmd: command(ts, "middleman", "profile", "record", s.target, "-o", file)}
	var err error
	r.in, err = r.cmd.StdinPipe()
	ts.Check(err)
	errs, err := r.cmd.StderrPipe()
	ts.Check(err)
	r.errs = bufio.NewReader(errs)
	ts.Check(r.cmd.Start())
	r.said("recording ")
	return r
}

// said waits for a line that begins with text.
func (r *recordingOf) said(text string) {
	line, err := r.errs.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, text) {
		r.ts.Fatalf("profile record says %q, %v, not %q", line, err, text)
	}
}

func (r *recordingOf) mark(text string) {
	_, err := fmt.Fprintln(r.in, text)
	r.ts.Check(err)
	r.said("marked: " + text)
}

func (r *recordingOf) end() {
	r.ts.Check(r.in.Close())
	r.said(filepath.Base(r.cmd.Args[len(r.cmd.Args)-1]) + " has ")
	r.ts.Check(r.cmd.Wait())
}

// judge runs profile test on a recording.
func (s *agentSession) judge(file string, code int) string {
	f, err := os.Open(file)
	s.ts.Check(err)
	defer f.Close()
	cmd := command(s.ts, "middleman", "profile", "test", "claude")
	cmd.Stdin = f
	out, err := cmd.CombinedOutput()
	if exitStatus(err) != code {
		s.ts.Fatalf("profile test: %v: %s", err, out)
	}
	return string(out)
}

// shown returns the session as `show` prints it.
func (s *agentSession) shown() api.Session {
	var v api.Shown
	s.ts.Check(json.Unmarshal([]byte(s.run("show", s.target, "--json")), &v))
	_, name, _ := strings.Cut(s.target, "/")
	for _, session := range v.Sessions {
		if session.Name == name {
			return session
		}
	}
	s.ts.Fatalf("show %s does not name the session", s.target)
	return api.Session{}
}

// cmdTrap tries one of traps: trap NAME WORKSPACE.
func cmdTrap(ts *testscript.TestScript, _ bool, args []string) { traps[args[0]](ts, args[1]) }
