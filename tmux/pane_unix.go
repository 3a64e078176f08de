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
	target
	session string // tmux's id of the session that the pane is in by now
	writer  string // writerOption
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
	paneFormat   = "P #{pane_id} #{session_id} #{" + paneOption + "} #{" + writerOption + "} #{pane_width} #{pane_height} #{pane_title}"
	clientFormat = "C #{session_id} #{client_pid} #{client_readonly} #{client_tty}"
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

// parsePane finds the pane of a session, and the clients of the session of
// tmux that it is in, which come after all panes.
func parsePane(out, id string) (p pane, ok bool) {
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if found, is := parsePaneLine(line); is && found.id == id && !ok {
			p, ok = found, true
		} else if c, session, is := parseClient(line); is && ok && session == p.session {
			p.clients = append(p.clients, c)
		}
	}
	return p, ok
}

func parsePaneLine(line string) (p pane, ok bool) {
	f := strings.SplitN(line, " ", 8)
	if len(f) < 8 || f[0] != "P" {
		return p, false
	}
	cols, errCols := strconv.Atoi(f[5])
	rows, errRows := strconv.Atoi(f[6])
	if errCols != nil || errRows != nil {
		return p, false
	}
	size := terminal.Size{Cols: uint16(cols), Rows: uint16(rows)}
	return pane{target: target{f[1], f[3]}, session: f[2], writer: f[4], size: size, title: f[7]}, true
}

func parseClient(line string) (c client, session string, ok bool) {
	f := strings.SplitN(line, " ", 5)
	if len(f) < 5 || f[0] != "C" {
		return c, "", false
	}
	pid, errPID := strconv.Atoi(f[2])
	readOnly, errReadOnly := strconv.Atoi(f[3])
	return client{tty: f[4], pid: pid, readOnly: readOnly != 0}, f[1], errPID == nil && errReadOnly == nil
}
