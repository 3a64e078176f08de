package admin

import (
	"fmt"
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

// privateOutput reports whether this user alone reads what goes to out: a terminal,
// or a file of theirs. What reads a pipe or a socket may keep a log. So may what made
// the terminal, as script(1) does, which cannot be known.
func privateOutput(out *os.File) bool {
	if unit, err := systemd.UnitOf(os.Getpid()); err != nil || unit.Service() || inSession() {
		return false
	}
	info, err := out.Stat()
	if err != nil {
		return false
	}
	if viewer.IsTerminal(out) {
		return closedTerminal(info)
	}
	return info.Mode().IsRegular() && closedFile(info)
}
