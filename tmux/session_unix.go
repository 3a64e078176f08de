//go:build unix

package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
	"middleman/terminal/journal"
)

// session is one session, by its state directory.
type session struct {
	id    string
	dir   stateDir
	mark  string
	panes *paneLister // shared by the sessions of a Backend
}

// Status implements terminal.Session. What the session is comes from its
// state directory; tmux is asked for size, title and viewers of a running one.
func (s *session) Status(ctx context.Context) (terminal.Status, error) {
	rec, err := s.dir.record()
	if err != nil {
		return terminal.Status{}, err
	}
	st := terminal.Status{
		ID: s.id, Workspace: rec.Workspace, Backend: Name, Argv: rec.Argv, Dir: rec.Dir,
		StartedAt: rec.Created, Size: rec.Size, JournalBytes: &rec.JournalBytes, Clipboard: rec.Clipboard,
		Source: "disk", AsOf: time.Now(),
	}
	l, err := s.launcher()
	if err != nil {
		return terminal.Status{}, err
	}
	if l.PID != 0 {
		st.StartedAt = l.Started
	}
	if st.State, st.Exit, err = s.state(l); err != nil {
		return terminal.Status{}, err
	}
	if st.State == terminal.StateRunning {
		srv := rec.server()
		s.revive(ctx, srv)
		p, err := s.pane(ctx, srv)
		if err == nil {
			st.PID, st.Size, st.Title, st.Source = l.Program, p.size, p.title, "tmux"
			st.Writer, st.Watchers = p.viewers()
		} else if st.State, st.Exit, _ = s.state(l); !st.State.Ended() { // it may have ended meanwhile
			return terminal.Status{}, err
		}
	}
	if st.State == terminal.StateRunning {
		st.Journal = s.dir.failing()
		if s.dir.stopping() {
			st.State = terminal.StateStopping
		}
	}
	if st.Exit != nil {
		st.Size, st.Title = st.Exit.Size, st.Exit.Title
	}
	if st.State.Ended() {
		if st.Left, err = s.left(ctx, rec, l); err != nil {
			return terminal.Status{}, err
		}
	}
	st.Oldest, st.Head, err = s.bounds()
	return st, err
}

// bounds are the journal's; before its first byte there may be none.
func (s *session) bounds() (oldest, head uint64, err error) {
	r := s.dir.journal()
	defer r.Close()
	oldest, head, err = r.Bounds()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return oldest, head, err
}

// launcher reads launcher.json; before the program runs it is zero.
func (s *session) launcher() (launcher, error) {
	var l launcher
	err := s.dir.readJSON(launcherFile, &l)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return l, err
}

// state decides from the exit record and the launcher's lock alone.
//
//	exit.json                             exited
//	lock held, launcher.json              running
//	lock held, or start.lock held         starting
//	lock free, launcher.json, no exit     lost
//	lock free, nothing else               failed
func (s *session) state(l launcher) (terminal.State, *terminal.Exit, error) {
	exit, err := s.dir.exit()
	if exit != nil || err != nil {
		return terminal.StateExited, exit, err
	}
	running, err := s.dir.running()
	if err != nil {
		return "", nil, err
	}
	if running && l.PID != 0 {
		return terminal.StateRunning, nil, nil
	}
	if running {
		return terminal.StateStarting, nil, nil
	}
	// The launcher ends after the record is made, so look once more.
	if exit, err = s.dir.exit(); exit != nil || err != nil {
		return terminal.StateExited, exit, err
	}
	if l.PID != 0 {
		return terminal.StateLost, nil, nil
	}
	f, err := tryLock(s.dir.path(startLock), unix.LOCK_SH)
	if errors.Is(err, errLocked) {
		return terminal.StateStarting, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	return terminal.StateFailed, nil, f.Close()
}

// present returns the record and the state for a method that acts.
func (s *session) present() (record, terminal.State, *terminal.Exit, error) {
	rec, err := s.dir.record()
	if err != nil {
		return rec, "", nil, err
	}
	l, err := s.launcher()
	if err != nil {
		return rec, "", nil, err
	}
	state, exit, err := s.state(l)
	return rec, state, exit, err
}

// reach is the session's server and pane, for what acts on them.
func (s *session) reach(ctx context.Context, rec record) (server, target, error) {
	srv := rec.server()
	s.revive(ctx, srv)
	t, err := s.dir.target()
	return srv, t, err
}

func (s *session) paste(ctx context.Context, rec record, p []byte) error {
	srv, t, err := s.reach(ctx, rec)
	if err != nil {
		return err
	}
	return srv.paste(ctx, t, p)
}

// server reaches the session's server, by the tmux in PATH where the one that
// started it has been moved.
func (r record) server() server {
	srv := server{tmux: r.Tmux, socket: r.Socket}
	if _, err := os.Stat(r.Tmux); err != nil {
		srv.tmux = "tmux"
	}
	return srv
}

// Input implements terminal.Session. The bytes go to tmux over standard input
// and from its buffer to the program as they are.
func (s *session) Input(ctx context.Context, p []byte) error {
	rec, state, _, err := s.present()
	if err != nil {
		return err
	}
	if state != terminal.StateRunning {
		return fmt.Errorf("type at session %s: it is %s: %w", s.id, state, terminal.ErrEnded)
	}
	lock, err := s.lock(ctx, inputLock)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := s.paste(ctx, rec, p); err != nil {
		if _, state, _, e := s.present(); e == nil && state.Ended() {
			return fmt.Errorf("type at session %s: %w", s.id, terminal.ErrEnded)
		}
		return fmt.Errorf("type at session %s: %w: %w", s.id, terminal.ErrUnreachable, err)
	}
	return nil
}

// lock takes a lock file of the state directory, which callers hold briefly.
func (s *session) lock(ctx context.Context, name string) (*os.File, error) {
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for {
		f, err := tryLock(s.dir.path(name), unix.LOCK_EX)
		if !errors.Is(err, errLocked) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s: %w", s.dir.path(name), ctx.Err())
		case <-tick.C:
		}
	}
}

// Output implements terminal.Session.
func (s *session) Output(_ context.Context, from uint64) (io.ReadCloser, error) {
	if _, err := s.dir.record(); err != nil {
		return nil, err
	}
	oldest, head, err := s.bounds()
	switch {
	case err != nil:
		return nil, err
	case from > head:
		return nil, fmt.Errorf("output of session %s from %d: %w", s.id, from, terminal.ErrRange)
	case from < oldest:
		return nil, &terminal.TrimmedError{Offset: from, Oldest: oldest}
	}
	return journal.NewStream(s.dir.journal(), from, head), nil
}

// Remove implements terminal.Session.
func (s *session) Remove(ctx context.Context) error {
	rec, state, _, err := s.present()
	if err != nil {
		return err
	}
	if !state.Ended() {
		return fmt.Errorf("remove session %s: it is %s: %w", s.id, state, terminal.ErrRunning)
	}
	if err := s.killMarked(ctx, rec.server()); err != nil {
		return fmt.Errorf("remove session %s: %w", s.id, err)
	}
	return errors.Join(s.removeNotify(), os.RemoveAll(string(s.dir)))
}

// removeNotify removes the journal helper's socket where it is not in the
// state directory.
func (s *session) removeNotify() error {
	rec, err := s.dir.record()
	if err != nil {
		return nil // gone with the directory
	}
	if err := os.Remove(rec.Notify); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
