package admin

import (
	"context"
	"fmt"
	"path/filepath"

	"middleman/terminal"
	"middleman/tmux"
)

// checkTmux prints the command that attaches to the private tmux server by
// hand, if it has sessions, and reports sessions of an earlier build without an
// owner.
func (c commands) checkTmux(ctx context.Context) (found []finding) {
	server := c.TmuxServer()
	list, err := c.Owners(server).List(ctx)
	if err == nil && len(list) > 0 {
		if command, err := server.ByHand(ctx, ""); err == nil {
			found = append(found, finding{"tmux by hand", "ok", command})
		}
	}
	old, _ := filepath.Glob(filepath.Join(c.Dirs.Sessions(), "*", "tmux.json")) // the error is always nil: the pattern is valid
	for _, path := range old {
		dir := filepath.Dir(path)
		if id := filepath.Base(dir); terminal.CheckID(id) == nil {
			found = append(found, finding{"session " + id, "note", fmt.Sprintf(
				"was started by an earlier build and cannot be used by this one: end it with `tmux -S %s kill-session -t =%s`, then remove %s",
				filepath.Join(c.Dirs.Sockets(), tmux.SocketFile), id, dir)})
		}
	}
	return found
}
