//go:build unix

package tmux

import (
	"context"
	"os"
	"strconv"
	"strings"
)

// paneOption is set to the session's id on its pane alone: names of sessions
// and the place of a pane are the user's to change, and a window may get panes
// of theirs.
const paneOption = "@middleman_pane"

// markFormat is parsed by its spaces, which no id has; a mark may. The owner
// mark is last.
const markFormat = "#{pane_id} #{" + paneOption + "} #{" + ownerOption + "}"

// marked is a pane that carries a session's id, and its owner mark.
type marked struct{ pane, id, owner string }

// noSessions is what a tmux server that has none says of its panes.
const noSessions = "no current target"

// marks returns the panes that carry a session's id. Without a server there
// are none.
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

// cutPaneID cuts what tmux printed into what it said before it made a pane, and
// the pane's id.
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
