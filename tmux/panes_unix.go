//go:build unix

package tmux

import (
	"context"
	"os"
	"strconv"
	"strings"
)

// paneOption is a pane option that holds the session's id, only on the
// session's own pane. Users may rename a session, move its pane, and add panes
// to its window.
const paneOption = "@middleman_pane"

// markFormat lists a pane's id and marks, separated by spaces. An id has no
// space, but an owner mark may, so it comes last.
const markFormat = "#{pane_id} #{" + paneOption + "} #{" + ownerOption + "}"

// marked is a pane with the session id and the owner mark that it carries.
type marked struct{ pane, id, owner string }

// noSessions is what a tmux server without sessions prints for list-panes.
const noSessions = "no current target"

// marks returns the panes that carry a session's id; none if no server runs.
func (c client) marks(ctx context.Context) ([]marked, error) {
	out, err := c.run(ctx, "list-panes", "-a", "-F", markFormat)
	if err != nil && (serverEnded(err) || strings.Contains(err.Error(), noSessions)) {
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
			list = append(list, marked{f[0], f[1], f[2]})
		}
	}
	return list
}

// paneID names a pane: by tmux's id, which another server uses again, and by
// the process id of the server.
type paneID struct {
	id     string
	server int
}

// paneIDFormat is the format of what cutPaneID reads.
const paneIDFormat = "#{pane_id} #{pid}"

// cutPaneID splits what tmux printed into the messages before it made a pane,
// and the pane, whose id is "" if it made none.
func cutPaneID(out string) (said string, pane paneID) {
	for line := range strings.Lines(out) {
		id, server, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, is := strings.CutPrefix(id, "%")
		if is && isNumber(n) && isNumber(server) {
			pid, err := strconv.Atoi(server)
			if err == nil {
				return said, paneID{id, pid}
			}
		}
		said += line
	}
	return said, paneID{}
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// inPane returns the pane that this process is in and the process id of the
// tmux server, from the variables that tmux sets. TMUX holds its socket, its
// process id and the session, separated by commas.
func inPane() (pane string, server int) {
	f := strings.Split(os.Getenv("TMUX"), ",")
	if len(f) >= 3 {
		server, _ = strconv.Atoi(f[len(f)-2]) // 0 if it is no number; only revive uses it, and ignores 0
	}
	return os.Getenv("TMUX_PANE"), server
}
