//go:build unix

package tmux

// For tests outside of the package.
const (
	OwnerOption  = ownerOption
	PaneOption   = paneOption
	InputSession = inputSession
)

var PaneTarget = paneTarget
