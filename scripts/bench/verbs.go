//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"middleman/internal/api"
	"middleman/workspace"
)

// What the commands that scripts and agents repeat may take.
const (
	versionBar = 4 * time.Millisecond
	verbRatio  = 3                      // times what tmux takes
	newBar     = 60 * time.Millisecond  // beyond git worktree add
	removeBar  = 100 * time.Millisecond // a workspace without work
	removesBar = 2 * time.Second        // 21 of them, one after the other
	removes    = 21
)

const verbSessions = 30 // that run meanwhile

// verb is a command on a session, as arguments of ours and of tmux.
type verb struct {
	name        string
	ours, tmuxs func(target string) []string
}

var verbs = []verb{
	{"send", func(t string) []string { return []string{"send", t, "x"} }, func(t string) []string { return []string{"send-keys", "-t", t, "x"} }},
	{"capture", func(t string) []string { return []string{"capture", t} }, capturePane},
	{"ls", func(string) []string { return []string{"ls"} }, func(string) []string { return []string{"list-sessions"} }},
	{"wait", func(t string) []string { return []string{"wait", t, "--text", readyMark} }, capturePane},
}

func capturePane(t string) []string { return []string{"capture-pane", "-p", "-t", t} }

// cli measures commands as processes, in turns with tmux and git.
func (b *bench) cli() error {
	var took []time.Duration
	for range b.pick(60, 15) {
		if err := b.timed(&took, b.binary, "version"); err != nil {
			return err
		}
	}
	b.within("middleman version", took, versionBar)
	if err := b.onSessions(); err != nil {
		return err
	}
	return b.newAndRemove()
}

// timed runs a command and appends how long that took.
func (b *bench) timed(took *[]time.Duration, argv ...string) error {
	cmd := exec.CommandContext(b.ctx, argv[0], argv[1:]...)
	var said bytes.Buffer // progress, and what is kept
	cmd.Env, cmd.Stderr = b.server.env(), &said
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", filepath.Base(argv[0]), argv[1], err, said.Bytes())
	}
	*took = append(*took, time.Since(began))
	return nil
}

// onSessions measures the verbs, each in turns with what tmux has for it.
func (b *bench) onSessions() error {
	peer := []string{"tmux", "-S", filepath.Join(b.dir, "verbs"), "-f", "/dev/null"}
	if _, err := exec.LookPath(peer[0]); err != nil {
		if !slices.Contains(b.absent, peer[0]) {
			b.absent = append(b.absent, peer[0])
		}
		return nil
	}
	end, err := b.startVerbSessions(peer)
	defer end()
	if err != nil {
		return err
	}
	ours, theirs := make([][]time.Duration, len(verbs)), make([][]time.Duration, len(verbs))
	for i := range b.pick(60, 15) {
		target := fmt.Sprintf("verb%d", i%verbSessions)
		for at, v := range verbs {
			if err := b.timed(&ours[at], append([]string{b.binary}, v.ours(target)...)...); err != nil {
				return err
			}
			if err := b.timed(&theirs[at], slices.Concat(peer, v.tmuxs(target))...); err != nil {
				return err
			}
		}
	}
	for at, v := range verbs {
		b.atMost("middleman "+v.name, percentile(ours[at], 50), percentile(theirs[at], 50), "tmux "+v.tmuxs("")[0], verbRatio)
	}
	return nil
}

// startVerbSessions starts the sessions of ours and of tmux. end ends all.
func (b *bench) startVerbSessions(peer []string) (end func(), err error) {
	var started []api.Workspace
	end = func() {
		for _, w := range started {
			if err := b.server.removeWorkspace(b.ctx, w.ID); err != nil {
				fmt.Fprintln(os.Stderr, "bench: remove workspace:", err)
			}
		}
		_ = exec.Command(peer[0], append(peer[1:], "kill-server")...).Run() // it may not run
	}
	var unused []time.Duration
	argv := b.program(modeEcho, 0)
	for i := range verbSessions {
		name := fmt.Sprintf("verb%d", i)
		w, err := b.server.client.CreateWorkspace(b.ctx, api.NewWorkspace{Mode: workspace.ModeDirectory, Name: name}, nil)
		if err != nil {
			return end, err
		}
		started = append(started, w.Workspace)
		if _, err := b.server.client.StartSession(b.ctx, w.Workspace.ID, api.NewSession{Command: argv, Size: b.size}); err != nil {
			return end, err
		}
		if err := b.timed(&unused, b.binary, "wait", name, "--text", readyMark, "--timeout", "30s"); err != nil {
			return end, err
		}
		if err := b.timed(&unused, slices.Concat(peer, []string{"new-session", "-d", "-s", name}, argv)...); err != nil {
			return end, err
		}
	}
	return end, nil
}

// newAndRemove measures making and deleting worktrees.
func (b *bench) newAndRemove() error {
	repository := filepath.Join(b.dir, "made")
	if err := b.makeRepository(repository, 200); err != nil {
		return err
	}
	var made, git, removed []time.Duration
	for i := range b.pick(20, 6) {
		name, path := fmt.Sprintf("made%d", i), filepath.Join(b.dir, fmt.Sprintf("plain%d", i))
		if err := b.timed(&made, b.binary, "new", name, "-d", "-C", repository, "--", "true"); err != nil {
			return err
		}
		if err := b.timed(&git, "git", "-C", repository, "worktree", "add", "-q", "-b", filepath.Base(path), path); err != nil {
			return err
		}
		if err := b.ended(name); err != nil {
			return err
		}
		if err := b.timed(&removed, b.binary, "rm", name); err != nil {
			return err
		}
	}
	beyond := percentile(made, 50) - percentile(git, 50)
	b.rows = append(b.rows, row{
		what: "middleman new -d, beyond git's", ours: shown(beyond),
		peer: "git worktree add " + shown(percentile(git, 50)), bar: "<= " + shown(newBar), met: beyond <= newBar,
	})
	b.within("middleman rm", removed, removeBar)
	return b.removeMany(repository)
}

// ended waits until the session of a workspace has ended.
func (b *bench) ended(name string) error {
	var unused []time.Duration
	return b.timed(&unused, b.binary, "wait", name, "--timeout", "30s")
}

// removeMany measures deletes right after each other.
func (b *bench) removeMany(repository string) error {
	var unused []time.Duration
	for i := range removes {
		name := fmt.Sprintf("row%d", i)
		if err := b.timed(&unused, b.binary, "new", name, "-d", "-C", repository, "--", "true"); err != nil {
			return err
		}
		if err := b.ended(name); err != nil {
			return err
		}
	}
	began := time.Now()
	for i := range removes {
		if err := b.timed(&unused, b.binary, "rm", fmt.Sprintf("row%d", i)); err != nil {
			return err
		}
	}
	took := time.Since(began)
	b.rows = append(b.rows, row{
		what: fmt.Sprintf("middleman rm, %d in a row", removes), ours: shown(took), bar: "<= " + shown(removesBar), met: took <= removesBar,
	})
	return nil
}
