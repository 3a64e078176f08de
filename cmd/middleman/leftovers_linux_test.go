package main

import (
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdUntil runs a command until its output matches: what a start does in the
// background gives no event. Usage: until REGEXP COMMAND...
func cmdUntil(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile("(?m)" + args[0])
	var out []byte
	err := waitFor(args[0], 20*time.Second, func() bool {
		out, _ = command(ts, args[1:]...).CombinedOutput()
		return want.Match(out)
	})
	ts.Logf("%s", out)
	ts.Check(err)
}
