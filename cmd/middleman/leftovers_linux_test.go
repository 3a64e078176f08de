package main

import (
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdUntil runs a command until its output matches: what a start does in the
// background gives no event. Usage: until REGEXP COMMAND... What it printed last,
// errors too, is then the script's standard output.
func cmdUntil(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile("(?m)" + args[0])
	var out []byte
	err := waitFor(args[0], patience, func() bool {
		out, _ = command(ts, args[1:]...).CombinedOutput()
		return want.Match(out)
	})
	_, _ = ts.Stdout().Write(out) // in memory
	ts.Check(err)
}
