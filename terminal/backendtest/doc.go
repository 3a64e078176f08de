// Package backendtest is the contract of [terminal.Backend] as tests: any
// backend's own test calls [Run]. It knows no backend and no host.
//
// The programs of its sessions are sh and the test binary itself, so TestMain
// of the calling package must begin with
//
//	if backendtest.IsProgram() {
//		os.Exit(backendtest.Main())
//	}
//
// It waits for events, never for a while: for a text on a viewer's screen, for
// an exit, or, where the system tells of nothing, for a condition.
package backendtest
