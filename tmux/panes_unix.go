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

// cutPaneID splits what tmux printed into the messages before it made a pane,
// and the pane's id, "" if it made none.
func cutPaneID(out string) (said, id string) {
	for line := range strings.Lines(out) {
		id := strings.TrimSuffix(line, "\n")
		if n, is := strings.CutPrefix(id, "%"); is && n != "" && strings.Trim(n, "0123456789") == "" {
			return said, id
		}
		said += line
	}
	return said, ""
}

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
