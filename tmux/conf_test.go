//go:build unix

package tmux_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"middleman/terminal"
	"middleman/tmux"
)

// The user's own tmux.conf for the private server.

func TestTheUsersTmuxConfIsRead(t *testing.T) {
	p := newPlace(t)
	p.writeConf(t, "set -g @mine 'yes'\nset -g history-limit 77\n")
	s := p.start(t, "read x")
	if got := p.command(t, "show-options", "-gv", "@mine", ";", "display-message", "-p", "-t", tmux.PaneTarget(s.id), "#{history_limit}"); got != "yes\n77\n" {
		t.Errorf("the user's settings are %q", got)
	}
	if got := p.Complaint(); got != "" {
		t.Errorf("complaint %q", got)
	}
}

// TestABrokenTmuxConfIsOneError: sessions start, nothing is in their output,
// and what tmux says is told. It takes nothing of a file that it cannot parse.
func TestABrokenTmuxConfIsOneError(t *testing.T) {
	for _, tt := range []struct{ name, conf, said, mine string }{
		{"unknown command", "set -g @mine yes\nno-such-command x\n", "no-such-command", "\n"},
		{"unknown option", "set -g no-such-option x\nset -g @mine yes\n", "no-such-option", "yes\n"},
		{"syntax", "set -g @mine yes\nif-shell {\n", "tmux.conf:", "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			p.writeConf(t, tt.conf)
			s := p.start(t, "echo READY; read x")
			p.start(t, "read x")
			if got := p.Complaint(); strings.Count(got, tt.said) != 1 {
				t.Errorf("complaint %q", got)
			}
			if got := p.command(t, "display-message", "-p", "#{@mine}"); got != tt.mine {
				t.Errorf("what is right of it is %q", got)
			}
			s.printed(t, "READY")
			if got := s.output(t); got != "READY\r\n" {
				t.Errorf("output %q", got)
			}
			c := p.attachByHand(t, s, terminal.DefaultSize)
			c.sees("READY")
			if c.saw(p.conf()) {
				t.Error("what is wrong is drawn over the session")
			}
			later := time.Now().Add(time.Minute)
			if err := os.Chtimes(p.conf(), later, later); err != nil {
				t.Fatal(err)
			}
			if got := p.Complaint(); got != "" {
				t.Errorf("complaint %q about a file that has changed", got)
			}
		})
	}
}

// TestAUsersConfEndsNothing: settings and hooks with which no session lives.
func TestAUsersConfEndsNothing(t *testing.T) {
	for _, conf := range []string{
		"set -g destroy-unattached on",
		"set -s exit-unattached on",
		"set -g remain-on-exit off",
		"set -g remain-on-exit on",
		"set -g window-size smallest",
		"set -g default-command 'sleep 1'",
		"set-hook -g after-new-session 'rename-session foo'",
		"set-hook -g session-created 'split-window'",
	} {
		t.Run(conf, func(t *testing.T) {
			p := newPlace(t)
			p.writeConf(t, conf+"\n")
			s := p.start(t, "echo READY; read x; exit 3")
			s.printed(t, "READY")
			if got := p.panes(t, "#{"+tmux.PaneOption+"}"); strings.TrimSpace(got) != s.id {
				t.Errorf("panes of %q", got)
			}
			c := p.attachByHand(t, s, terminal.Size{Cols: 40, Rows: 10})
			c.sees("READY")
			if got := p.panes(t, "#{window_width}"); !strings.HasPrefix(got, "80\n") {
				t.Errorf("the size of who attached by hand: %q", got)
			}
			s.types(t, "\n")
			if e := s.exit(t); e.Code != 3 {
				t.Errorf("exit %+v", e)
			}
			eventually(t, "no pane of ours is left", func() bool {
				out, err := p.byHand("list-panes", "-a", "-F", "#{"+tmux.PaneOption+"}")
				return err != nil || !strings.Contains(out, s.id)
			})
		})
	}
}

// TestAHookThatEndsSessionsIsNamed: hooks are the user's, and so is what theirs
// do.
func TestAHookThatEndsSessionsIsNamed(t *testing.T) {
	p := newPlace(t)
	p.writeConf(t, "set-hook -g after-new-session 'kill-pane'\n")
	if err := p.Usable(testContext(t)); err == nil || !strings.Contains(err.Error(), p.conf()) {
		t.Errorf("usable: %v, want %s named", err, p.conf())
	}
	if failed := p.failsToStart(t, specOf("/bin/cat")); !failed.Host || !strings.Contains(failed.Error(), p.conf()) {
		t.Errorf("%v, want the host's, with %s", failed, p.conf())
	}
}

// TestAConfThatBlocksIsNamed: and nothing is left of the start.
func TestAConfThatBlocksIsNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as long as a tmux server may")
	}
	p := newPlace(t)
	p.writeConf(t, "run-shell 'sleep 20'\n")
	failed := p.failsToStart(t, specOf("/bin/sh", "-c", "read x"))
	if !failed.Host || !strings.Contains(failed.Error(), p.conf()) || !strings.Contains(failed.Error(), "does not answer") {
		t.Errorf("start: %v, want one that names %s", failed, p.conf())
	}
}
