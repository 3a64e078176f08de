//go:build unix

package tmux

// For tests outside of the package.
const (
	OwnerOption  = ownerOption
	PaneOption   = paneOption
	InputSession = inputSession
)

// PaneTarget names the pane of a session, exactly: without the "=", tmux would
// also take the name for a prefix or a pattern.
func PaneTarget(id string) string { return "=" + id + ":" }
