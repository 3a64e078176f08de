//go:build unix

package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"middleman/terminal"
)

// pane is what tmux knows of a running session.
type pane struct {
	size    terminal.Size
	title   string
	clients []client
}

// client is a tmux client that is attached to a session.
type client struct {
	tty      string
	pid      int
	readOnly bool
}

// The formats are parsed by spaces: all fields but the last are numbers, ids
// or paths of terminals, which have none.
const (
	paneFormat   = "P #{session_name} #{pane_width} #{pane_height} #{pane_title}"
	clientFormat = "C #{session_name} #{client_pid} #{client_readonly} #{client_tty}"
)

// paneLister lets many callers at once share one call of tmux, which lists all
// sessions. None gets an answer that is older than its question.
type paneLister struct {
	mu    sync.Mutex // guards what follows, and is held while tmux is asked
	srv   server
	asked time.Time
	out   string
}

func (l *paneLister) list(ctx context.Context, srv server) (string, error) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.srv == srv && l.asked.After(now) {
		return l.out, nil
	}
	asked := time.Now()
	out, err := srv.run(ctx, nil, "list-panes", "-a", "-F", paneFormat, ";", "list-clients", "-F", clientFormat)
	if err == nil {
		l.srv, l.asked, l.out = srv, asked, out
	}
	return out, err
}

// pane asks tmux about a session of which the launcher's lock is held.
func (s *session) pane(ctx context.Context, srv server) (pane, error) {
	out, err := s.panes.list(ctx, srv)
	if err != nil {
		return pane{}, fmt.Errorf("session %s: %w: %w", s.id, terminal.ErrUnreachable, err)
	}
	p, ok := parsePane(out, s.id)
	if !ok {
		return pane{}, fmt.Errorf("session %s: tmux does not list it: %w", s.id, terminal.ErrUnreachable)
	}
	return p, nil
}

func parsePane(out, id string) (p pane, ok bool) {
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 5)
		if len(f) < 5 || f[1] != id {
			continue
		}
		a, errA := strconv.Atoi(f[2])
		b, errB := strconv.Atoi(f[3])
		if errA != nil || errB != nil {
			continue
		}
		switch {
		case f[0] == "P" && !ok:
			p.size = terminal.Size{Cols: uint16(a), Rows: uint16(b)}
			p.title, ok = f[4], true
		case f[0] == "C":
			p.clients = append(p.clients, client{tty: f[4], pid: a, readOnly: b != 0})
		}
	}
	return p, ok
}
