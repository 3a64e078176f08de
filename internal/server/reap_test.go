//go:build linux || darwin

package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/terminal"
)

// TestAStartReapsWhatNothingLeadsTo: a terminal of ours without state and row
// goes; one with a row alone, with state alone, or not of ours stays.
func TestAStartReapsWhatNothingLeadsTo(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		if p.backend.Name() != "tmux" {
			t.Skip("a pty-owner has no terminal without its state directory")
		}
		r := p.serve(t)
		w := r.workspace("w", &api.NewSession{Command: []string{"cat"}})
		rowAlone := w.Sessions[0].ID
		r.stop()
		socket := filepath.Join(p.dirs.Runtime, "tmux.sock")
		tmux := func(args ...string) string {
			t.Helper()
			out, err := exec.Command("tmux", append([]string{"-S", socket}, args...)...).Output()
			if err != nil {
				t.Fatalf("tmux %q: %v", args, err)
			}
			return string(out)
		}
		orphan, foreign := terminal.NewID("s"), terminal.NewID("s")
		for _, name := range []string{orphan, foreign} {
			tmux("new-session", "-d", "-s", name, "cat")
		}
		tmux("set-option", "-p", "-t", "="+orphan+":", "@middleman_owner", filepath.Join(p.dirs.Sessions(), orphan),
			";", "set-option", "-p", "-t", "="+orphan+":", "@middleman_pane", orphan)
		state := filepath.Join(p.dirs.Sessions(), rowAlone)
		if err := os.Rename(state, state+".away"); err != nil {
			t.Fatal(err)
		}
		p.serve(t)
		names := func() string { return tmux("list-sessions", "-F", "#{session_name}") }
		deadline := time.Now().Add(patience)
		for strings.Contains(names(), orphan) {
			if time.Now().After(deadline) {
				t.Fatal("the orphan is still there")
			}
			<-time.After(5 * time.Millisecond)
		}
		if got := names(); !strings.Contains(got, rowAlone) || !strings.Contains(got, foreign) {
			t.Errorf("left are %q", got)
		}
		if err := os.Rename(state+".away", state); err != nil {
			t.Fatal(err)
		}
	})
}
