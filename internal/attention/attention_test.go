package attention

import (
	"slices"
	"strings"
	"testing"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/terminal"
)

func TestJudge(t *testing.T) {
	unseen := func(bell bool) *terminal.Unseen { return &terminal.Unseen{Bytes: 9, Bell: bell} }
	made, exited, told := time.Unix(1000, 0), time.Unix(2000, 0), time.Unix(3000, 0)
	agentIn := func(state agent.State) api.Session {
		return api.Session{
			State: terminal.StateRunning, Argv: []string{"claude"}, Unseen: unseen(true),
			Agent: &agent.Status{State: state, Reason: "why", Since: told},
		}
	}
	ended := func(exit terminal.Exit) api.Session {
		exit.Time = exited
		return api.Session{State: terminal.StateExited, Conversation: "c", Exit: &exit}
	}
	for _, tt := range []struct {
		name  string
		in    api.Session
		want  Group
		state string
		since time.Time
	}{
		{"a shell", api.Session{State: terminal.StateRunning, Argv: []string{"/bin/bash"}}, Ready, "shell", made},
		{"a shell that runs a program", api.Session{State: terminal.StateRunning, Argv: []string{"/bin/bash"}, Foreground: "make"}, Working, "runs make", made},
		{"its output", api.Session{State: terminal.StateRunning, Argv: []string{"/bin/bash"}, Foreground: "make", Unseen: unseen(false)}, Working, "runs make, new output", made},
		{"its bell", api.Session{State: terminal.StateRunning, Argv: []string{"/bin/bash"}, Foreground: "make", Unseen: unseen(true)}, NeedsYou, "its bell rang", made},
		{"a shell in a shell", api.Session{State: terminal.StateRunning, Argv: []string{"/bin/bash"}, Foreground: "zsh"}, Ready, "shell", made},
		{"a program that runs another", api.Session{State: terminal.StateRunning, Argv: []string{"/usr/bin/vim"}, Foreground: "make"}, Working, "running", made},
		{"a name that does not show", api.Session{State: terminal.StateRunning, Argv: []string{"/bin/bash"}, Foreground: "a\x1b[2Jb"}, Working, `runs a\x1b[2Jb`, made},
		{"a login shell", api.Session{State: terminal.StateRunning, Argv: []string{"/usr/bin/zsh", "-l"}}, Ready, "shell", made},
		{"a script that is no shell", api.Session{State: terminal.StateRunning, Argv: []string{"/home/me/deploy.sh"}}, Working, "running", made},
		{"a script for a shell", api.Session{State: terminal.StateRunning, Argv: []string{"sh", "deploy.sh"}}, Working, "running", made},
		{"the shell's profile", api.Session{State: terminal.StateRunning, Argv: []string{"/bin/bash", "-l"}, Profile: "shell"}, Ready, "shell", made},
		{"a shell with a command", api.Session{State: terminal.StateRunning, Argv: []string{"sh", "-c", "make"}}, Working, "running", made},
		{"a command", api.Session{State: terminal.StateRunning, Argv: []string{"make"}}, Working, "running", made},
		{"nothing unseen", api.Session{State: terminal.StateRunning, Argv: []string{"make"}, Unseen: &terminal.Unseen{Bell: true}}, Working, "running", made},
		{"unseen output of a command", api.Session{State: terminal.StateRunning, Argv: []string{"make"}, Unseen: unseen(false)}, Working, "new output", made},
		{"unseen output of a shell", api.Session{State: terminal.StateRunning, Argv: []string{"zsh"}, Unseen: unseen(false)}, Ready, "new output", made},
		{"a bell", api.Session{State: terminal.StateRunning, Argv: []string{"make"}, Unseen: unseen(true)}, NeedsYou, "its bell rang", made},
		{"attached", api.Session{State: terminal.StateRunning, Argv: []string{"make"}, Writer: &terminal.Writer{}}, Working, "running, attached", made},
		{"no answer of its machine", api.Session{State: terminal.StateUnreachable, Runtime: "box", Argv: []string{"sh"}}, Working, "its machine is unreachable", made},
		{"no answer", api.Session{State: terminal.StateUnreachable, Argv: []string{"sh"}, Unseen: unseen(true)}, NeedsYou, "does not answer", made},
		{"starting", api.Session{State: terminal.StateStarting, Argv: []string{"sh"}}, Working, "starting", made},
		{"stopping", api.Session{State: terminal.StateStopping, Argv: []string{"sh"}}, Working, "stopping", made},
		{"exited", api.Session{State: terminal.StateExited, Exit: &terminal.Exit{Code: 7, Time: exited}, Unseen: unseen(true)}, Ended, "exited (7)", exited},
		{"stopped", api.Session{State: terminal.StateExited, Exit: &terminal.Exit{Code: -1, Signal: 1, SignalName: "SIGHUP", Stopped: true, Time: exited}}, Ended, "stopped (SIGHUP)", exited},
		{"stopped, and exited", api.Session{State: terminal.StateExited, Exit: &terminal.Exit{Code: 3, Stopped: true, Time: exited}}, Ended, "stopped (3)", exited},
		{"killed", api.Session{State: terminal.StateExited, Exit: &terminal.Exit{Code: -1, Signal: 1, SignalName: "SIGHUP", Time: exited}}, Ended, "exited (SIGHUP)", exited},
		{"lost", api.Session{State: terminal.StateLost}, Ended, "lost", made},
		{"an agent that was lost", api.Session{State: terminal.StateLost, Conversation: "c"}, NeedsYou, "lost, can be resumed", made},
		{"such an agent that was resumed or stopped since", api.Session{State: terminal.StateLost, Conversation: "c", Settled: true}, Ended, "lost", made},
		{"such an agent of a deleted workspace", api.Session{State: terminal.StateLost, Conversation: "c", DeletedAt: &told}, Ended, "lost", made},
		{"an agent that ended as the machine went down", ended(terminal.Exit{Code: -1, Signal: 15, SignalName: "SIGTERM"}), NeedsYou, "exited (SIGTERM), can be resumed", exited},
		{"an agent that exited at that signal", ended(terminal.Exit{Code: 143}), NeedsYou, "exited (143), can be resumed", exited},
		{"an agent that its user interrupted", ended(terminal.Exit{Code: -1, Signal: 2, SignalName: "SIGINT"}), Ended, "exited (SIGINT)", exited},
		{"an agent that was stopped", ended(terminal.Exit{Code: -1, Signal: 15, SignalName: "SIGTERM", Stopped: true}), Ended, "stopped (SIGTERM)", exited},
		{"an agent that is at its end", ended(terminal.Exit{}), Ended, "exited (0)", exited},
		{"an agent that could not be started", api.Session{State: terminal.StateFailed, Conversation: "c"}, Ended, "failed", made},
		{"an agent that waits", agentIn(agent.Waiting), NeedsYou, "waiting: why", told},
		{"an agent that is idle", agentIn(agent.Idle), Ready, "idle: why", told},
		{"an agent that is done", agentIn(agent.Done), Ready, "done: why", told},
		{"an agent that works", agentIn(agent.Working), Working, "working: why", told},
		{"an agent that has failed", agentIn(agent.Failed), NeedsYou, "failed: why", told},
		{"an agent of which nothing is known", api.Session{State: terminal.StateRunning, Argv: []string{"claude"}, Agent: &agent.Status{State: agent.Unknown, Since: told}}, Unknown, "unknown", made},
		{"such an agent with output", api.Session{State: terminal.StateRunning, Argv: []string{"claude"}, Agent: &agent.Status{State: agent.Unknown}, Unseen: unseen(false), Writer: &terminal.Writer{}}, Unknown, "unknown, new output, attached", made},
		{"such an agent with a bell", agentIn(agent.Unknown), NeedsYou, "its bell rang", made},
		{"an agent whose status is of no known time", api.Session{State: terminal.StateRunning, Agent: &agent.Status{State: agent.Waiting}}, NeedsYou, "waiting", time.Time{}},
		{"an agent that has ended", api.Session{State: terminal.StateExited, Agent: agentIn(agent.Waiting).Agent}, Ended, "exited", made},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.in.CreatedAt = made
			got, state, since := Judge(tt.in)
			if got != tt.want || state != tt.state || !since.Equal(tt.since) {
				t.Errorf("got %v, %q since %v; want %v, %q since %v", got, state, since, tt.want, tt.state, tt.since)
			}
		})
	}
}

// TestOrder checks that the keys sort as the groups say.
func TestOrder(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	want := []string{
		Order(NeedsYou, time.Time{}, "z/sh", "1"),
		Order(NeedsYou, at(10), "b/sh", "1"),
		Order(NeedsYou, at(1_900_000_000), "a/sh", "1"),
		Order(Unknown, at(20), "a/sh", "1"),
		Order(Unknown, at(10), "b/sh", "1"),
		Order(Ready, at(10), "a-2/sh", "1"),
		Order(Ready, at(20), "a/sh", "1"),
		Order(Ready, at(10), "a/sh-2", "1"),
		Order(Ready, at(10), "b/sh", "1"),
		Order(Ready, at(5), "b/sh", "2"),
		Order(Ready, at(10), "fix-2/sh", "1"),
		Order(Ready, at(10), "fix-9/sh-10", "1"),
		Order(Ready, at(10), "fix-10/sh", "1"),
		Order(Ready, at(10), "fix-100000000000000000000000/sh", "1"),
		Order(Ready, at(10), "fix/sh", "1"),
		Order(Working, at(1), "a/sh", "1"),
		Order(Ended, at(1_900_000_000), "b/sh", "1"),
		Order(Ended, at(10), "a/sh", "1"),
		Order(Ended, time.Time{}, "a/sh", "1"),
	}
	if got := slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		t.Errorf("sorted:\n%s", strings.Join(got, "\n"))
	}
}

func TestOf(t *testing.T) {
	since := time.Unix(3000, 0)
	got := Of(api.Session{
		ID: "1", Name: "claude", WorkspaceName: "fix", State: terminal.StateRunning,
		Agent: &agent.Status{State: agent.Waiting, Reason: "Bash: make", Since: since},
	})
	want := api.Attention{Group: "needs-you", State: "waiting: Bash: make", Since: since, Order: "0 0000003000000000000 fix/claude 1"}
	if *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
	empty := OfEmpty(api.Workspace{ID: "2", Label: "fix", State: "failed", CreatedAt: since})
	if empty.Group != "ended" || empty.State != "failed, no session" {
		t.Errorf("a workspace without a session: %+v", *empty)
	}
}

// A session's state says that nothing is known, where lists show no group.
func TestState(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   api.Session
		want string
	}{
		{"a command", api.Session{State: terminal.StateRunning}, "running"},
		{"an agent that works", api.Session{State: terminal.StateRunning, Agent: &agent.Status{State: agent.Working}}, "working"},
		{"an agent of which nothing is known", api.Session{State: terminal.StateRunning, Agent: &agent.Status{State: agent.Unknown}}, "unknown"},
		{"an agent that does not answer", api.Session{State: terminal.StateUnreachable, Agent: &agent.Status{State: agent.Unknown}}, "unreachable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := State(tt.in); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
