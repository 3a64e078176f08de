package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// idleTime is how long a server must do nothing.
const idleTime = 2 * time.Second

// cmdIdle waits until the server does nothing for idleTime: it uses no
// processor time and no child of it ends. What a start does in the background
// may come first.
func cmdIdle(ts *testscript.TestScript, _ bool, _ []string) {
	pid := serverPID(ts.Getenv("MIDDLEMAN_HOME"))
	var last string
	ts.Check(waitFor("server that does nothing", patience, func() bool {
		before, err := usage(pid)
		ts.Check(err)
		<-time.After(idleTime) // what must not happen gives no event
		after, err := usage(pid)
		ts.Check(err)
		last = fmt.Sprintf("%s became %s", before, after)
		return before == after
	}))
	ts.Logf("%s", last)
}

// usage is a process's processor time in clock ticks, and the page faults of its
// children that have ended, which grow with each.
func usage(pid int) (string, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// pid (name) state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime ...
	_, rest, _ := strings.Cut(string(raw), ") ")
	f := strings.Fields(rest)
	return fmt.Sprintf("user %s, system %s, faults of children %s", f[11], f[12], f[8]), nil
}
