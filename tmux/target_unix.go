//go:build unix

package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

// paneOption is set to the session's id on its pane alone: names of sessions
// and the place of a pane are the user's to change, and a window may get panes
// of theirs.
const paneOption = "@middleman_pane"

// target is the pane of a session: tmux's id for it, which another pane has
// once another server runs, and the session's, which tells the two apart.
type target struct{ pane, id string }

// target is the pane that the launcher found itself in.
func (d stateDir) target() (target, error) {
	var l launcher
	if err := d.readJSON(launcherFile, &l); err != nil {
		return target{}, err
	}
	return target{l.Pane, filepath.Base(string(d))}, nil
}

// notOurs is what tmux says where the pane of that id is not the session's.
const notOurs = "middleman: not the pane of this session"

// guarded is a command that acts on t, if that is the session's pane still.
func (t target) guarded(command ...string) []string {
	for i, word := range command {
		command[i] = quote(word)
	}
	return []string{
		"if-shell", "-F", "-t", t.pane, "#{==:#{" + paneOption + "}," + t.id + "}",
		strings.Join(command, " "), "display-message -p " + quote(notOurs),
	}
}

// act runs a command on t. A pane that is not the session's any more is not
// touched, which is an error that wraps terminal.ErrGone.
func (srv server) act(ctx context.Context, t target, command ...string) error {
	out, err := srv.run(ctx, nil, t.guarded(command...)...)
	return t.refused(out, err)
}

// refused is err, or that what a guarded command printed says no.
func (t target) refused(out string, err error) error {
	if err == nil && strings.Contains(out, notOurs) {
		return fmt.Errorf("pane %s of tmux is another session's by now: %w", t.pane, terminal.ErrGone)
	}
	return err
}

// markFormat is parsed by its spaces, which no id has; a mark may. The owner
// mark is last.
const markFormat = "#{pane_id} #{" + paneOption + "} #{" + ownerOption + "}"

// marked is a pane that carries a session's id, and its owner mark.
type marked struct {
	target
	owner string
}

// noSessions is what a tmux server that has none says of its panes.
const noSessions = "no current target"

// marks returns the panes that carry a session's id. Without a server there
// are none.
func (srv server) marks(ctx context.Context) ([]marked, error) {
	out, err := srv.run(ctx, nil, "list-panes", "-a", "-F", markFormat)
	if errors.Is(err, errNoServer) || err != nil && strings.Contains(err.Error(), noSessions) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseMarks(out), nil
}

func parseMarks(out string) []marked {
	var list []marked
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(f) == 3 && f[1] != "" {
			list = append(list, marked{target{f[0], f[1]}, f[2]})
		}
	}
	return list
}

// hasPane reports whether some pane carries this session's id.
func (srv server) hasPane(ctx context.Context, id string) (bool, error) {
	list, err := srv.marks(ctx)
	return slices.ContainsFunc(list, func(m marked) bool { return m.id == id }), err
}

// kill ends a pane, and with its last one the session that it is in; one that
// is gone is no error. A window that the user has split keeps what is theirs.
func (srv server) kill(ctx context.Context, t target) error {
	err := srv.act(ctx, t, "kill-pane", "-t", t.pane)
	if err == nil || errors.Is(err, errNoServer) || errors.Is(err, terminal.ErrGone) {
		return nil
	}
	there, lookErr := srv.hasPane(ctx, t.id)
	if lookErr == nil && !there {
		return nil
	}
	return err
}

// killMarked ends the panes that carry the session's id and our mark.
func (s *session) killMarked(ctx context.Context, srv server) error {
	list, err := srv.marks(ctx)
	for _, m := range list {
		if m.id == s.id && m.owner == s.mark {
			err = errors.Join(err, srv.kill(ctx, m.target))
		}
	}
	return err
}

// reviveTime is how long a tmux server may take to make its socket again.
const reviveTime = 2 * time.Second

// revive has the tmux server of a running session make its socket again where
// somebody has removed that, as cleaners of temporary directories do: tmux does
// so on SIGUSR1 (tmux(1)). It is asked only where it is the launcher's parent
// still. What does not help shows when the server is asked for something.
func (s *session) revive(ctx context.Context, srv server) {
	if _, err := os.Lstat(srv.socket); err == nil {
		return
	}
	l, err := s.launcher()
	if err != nil || l.Server == 0 {
		return
	}
	if running, err := s.dir.running(); !running || err != nil || parentOf(l.PID) != l.Server {
		return
	}
	if unix.Kill(l.Server, unix.SIGUSR1) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reviveTime)
	defer cancel()
	tick := time.NewTicker(processInterval) // tmux tells nobody
	defer tick.Stop()
	for !srv.listening() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// reviveServer is revive for a session that is just to be started: were there
// a server without its socket, another would be started beside it.
func (b *Backend) reviveServer(ctx context.Context, srv server) {
	if _, err := os.Lstat(srv.socket); err == nil {
		return
	}
	ids, err := b.List(ctx)
	if err != nil {
		return
	}
	for _, id := range ids {
		s := b.session(id)
		rec, err := s.dir.record()
		if err == nil && rec.Socket == srv.socket {
			s.revive(ctx, srv)
		}
	}
}

// parentOf is a process's parent, 0 where that cannot be told.
func parentOf(pid int) int {
	all, err := processes()
	if err != nil {
		return 0
	}
	for _, p := range all {
		if p.pid == pid {
			return p.parent
		}
	}
	return 0
}

// inPane says which pane this process is in, and the tmux server's process, by
// what tmux puts into the environment: TMUX is its socket, its process and the
// session, by commas.
func inPane() (pane string, server int) {
	f := strings.Split(os.Getenv("TMUX"), ",")
	if len(f) >= 3 {
		server, _ = strconv.Atoi(f[len(f)-2]) // 0 is of no use to revive, and to nobody else
	}
	return os.Getenv("TMUX_PANE"), server
}
