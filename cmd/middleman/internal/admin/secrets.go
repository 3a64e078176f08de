package admin

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/systemd"
)

// inSession reports whether this command runs in a session of middleman. What a
// session shows is watched, by one-session links too, and stays in its transcript.
func inSession() bool { return os.Getenv("MIDDLEMAN_SESSION") != "" }

// hereFlag adds the flag with which a command prints a secret in a session.
func hereFlag(flags *pflag.FlagSet, here *bool, what string) {
	flags.BoolVar(here, "here", false, "in a session too, where whoever watches it sees "+what)
}

// mayShow returns an error if this command runs in a session and was not told that
// the session may show what, a secret.
func mayShow(what string, here bool) error {
	if here || !inSession() {
		return nil
	}
	return fmt.Errorf("whoever watches this session, now or later in its transcript, could use %s: "+
		"nothing was made; use a terminal outside of middleman, or give --here to print it all the same", what)
}

// supervised names variables that service managers set for what they start. A
// pipe from there may end in a log.
var supervised = []string{"JOURNAL_STREAM", "INVOCATION_ID", "NOTIFY_SOCKET", "SUPERVISOR_ENABLED"}

// privateOutput reports whether this user alone reads what goes to out, as far as
// that can be known. It is not known of a pipe to a program that keeps a log.
func privateOutput(out *os.File) bool {
	if unit, err := systemd.UnitOf(os.Getpid()); err != nil || unit.Service() || inSession() {
		return false
	}
	if viewer.IsTerminal(out) {
		return true
	}
	for _, name := range supervised {
		if os.Getenv(name) != "" {
			return false
		}
	}
	info, err := out.Stat()
	if err != nil {
		return false
	}
	switch info.Mode().Type() {
	case fs.ModeNamedPipe:
		return closedPipe(info)
	case 0:
		return closedFile(info)
	}
	return false // a socket, such as journald's, or a device
}
