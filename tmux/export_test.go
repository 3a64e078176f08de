//go:build unix

package tmux

import "context"

// For tests outside of the package.
const (
	OwnerOption  = ownerOption
	PaneOption   = paneOption
	InputSession = inputSession
)

// StartTry starts a server that is to end with the FIFO alive, and returns what
// new-session did.
func StartTry(ctx context.Context, o Options, alive string) error {
	o.alive = alive
	s := New(o)
	c, err := s.client(ctx)
	if err == nil {
		_, err = c.runFirst(ctx, "new-session", "-d", "--", "sleep", "1000")
	}
	return err
}

// PaneTarget names the pane of a session, exactly: without the "=", tmux would
// also take the name for a prefix or a pattern.
func PaneTarget(id string) string { return "=" + id + ":" }
