package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"middleman/internal/testenv"
)

// cmdHang stops the tmux server, or every owner, with SIGSTOP until the
// script's end or a "hang none":
//
//	hang tmux|owners|none
func cmdHang(ts *testscript.TestScript, _ bool, args []string) {
	home := ts.Getenv("MIDDLEMAN_HOME")
	var pids []int
	switch args[0] {
	case "tmux":
		out, err := command(ts, "tmux", "-S", filepath.Join(home, "run", "tmux.sock"), "display-message", "-p", "#{pid}").Output()
		ts.Check(err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
		ts.Check(err)
		pids = []int{pid}
	case "owners":
		pids = owners(home)
	case "none":
		for pid := range processesOf(home) {
			ts.Check(syscall.Kill(pid, syscall.SIGCONT))
		}
		return
	}
	if len(pids) == 0 {
		ts.Fatalf("there is nothing to hang")
	}
	for _, pid := range pids {
		ts.Check(testenv.Freeze(pid))
		ts.Defer(func() { syscall.Kill(pid, syscall.SIGCONT) }) // it may have ended
	}
}

func owners(home string) []int {
	var pids []int
	for pid, line := range processesOf(home) {
		if strings.Contains(line, " pty-owner") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// cmdWithin runs a command that must succeed in a time. A machine that is busy
// otherwise gets three attempts:
//
//	within DURATION COMMAND...
func cmdWithin(ts *testscript.TestScript, _ bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	var took time.Duration
	for range 3 {
		begun := time.Now()
		ts.Check(ts.Exec(args[1], args[2:]...))
		if took = time.Since(begun); took <= limit {
			return
		}
		ts.Logf("it took %s", took.Round(time.Millisecond))
	}
	ts.Fatalf("it took %s, more than %s, each of three times", took.Round(time.Millisecond), limit)
}
