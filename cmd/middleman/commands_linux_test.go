package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"middleman/internal/api"
)

// environ is the script's environment.
func environ(ts *testscript.TestScript) []string {
	names := []string{
		"PATH", "MIDDLEMAN_HOME", "HOME", "LC_ALL", "LC_MIDDLEMAN_TEST", "TERM", "SHELL", "MIDDLEMAN_SESSION", "SSH_AUTH_SOCK",
		"GIT_CONFIG_NOSYSTEM", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
	}
	var env []string
	for _, name := range names {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func lookPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, name); isFile(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not in %s", name, path)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// command makes a command of the script's, to be run beside it.
func command(ts *testscript.TestScript, args ...string) *exec.Cmd {
	path, err := lookPath(args[0], ts.Getenv("PATH"))
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
	return cmd
}

func exitStatus(err error) int {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// cmdStatus runs a command that must exit with a code:
//
//	status CODE COMMAND...
func cmdStatus(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	if got := strconv.Itoa(exitStatus(err)); got != args[0] {
		ts.Fatalf("exit code %s, want %s: %v", got, args[0], err)
	}
}

// cmdFails runs a command that must exit with a code, print nothing on
// standard output and one line that contains TEXT on standard error, which is a
// problem if the command has --json:
//
//	fails CODE TEXT COMMAND...
func cmdFails(ts *testscript.TestScript, neg bool, args []string) {
	cmdStatus(ts, neg, append([]string{args[0]}, args[2:]...))
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("standard output is %q", out)
	}
	errs := progressLine().ReplaceAllString(ts.ReadFile("stderr"), "") // shown where it takes long
	begin := "middleman: "
	if slices.Contains(args, "--json") {
		begin = `{"problem":{`
	}
	if strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, begin) || !strings.Contains(errs, args[1]) {
		ts.Fatalf("standard error is %q, want one line with %q", errs, args[1])
	}
}

// cmdSilent looks at the standard error of the last command, which must have told
// nothing but how far it was:
//
//	silent
func cmdSilent(ts *testscript.TestScript, _ bool, _ []string) {
	if errs := progressLine().ReplaceAllString(ts.ReadFile("stderr"), ""); errs != "" {
		ts.Fatalf("standard error is %q", errs)
	}
}

// progressLine matches a line of progress, as "making w: checkout, 2s".
var progressLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[a-z ]+ \S+: .*, [0-9ms]+\n`) })

// cmdKillServer ends the server in the middle of whatever, with SIGKILL or
// another signal:
//
//	kill-server [SIGNAL]
func cmdKillServer(ts *testscript.TestScript, _ bool, args []string) {
	signal := syscall.SIGKILL
	if len(args) > 0 {
		signal = unix.SignalNum(args[0])
	}
	pid := serverPID(ts.Getenv("MIDDLEMAN_HOME"))
	if pid == 0 {
		ts.Fatalf("no server runs")
	}
	ts.Check(syscall.Kill(pid, signal))
	ts.Check(waitFor("end of the server", patience, func() bool { return !alive(pid) }))
}

// cmdKillOwners ends every owner with SIGKILL.
func cmdKillOwners(ts *testscript.TestScript, _ bool, _ []string) {
	for pid, line := range processesOf(ts.Getenv("MIDDLEMAN_HOME")) {
		if strings.Contains(line, " pty-owner") {
			ts.Check(syscall.Kill(pid, syscall.SIGKILL))
			ts.Check(waitFor("end of the owner", patience, func() bool { return !alive(pid) }))
		}
	}
}

// cmdGetPID sets a variable to the process id of a target's one session:
//
//	getpid VARIABLE TARGET
func cmdGetPID(ts *testscript.TestScript, _ bool, args []string) {
	out, err := command(ts, "middleman", "show", args[1], "--json").Output()
	ts.Check(err)
	var shown api.Shown
	ts.Check(json.Unmarshal(out, &shown))
	if len(shown.Sessions) != 1 || shown.Sessions[0].PID == 0 {
		ts.Fatalf("not one live session: %s", out)
	}
	ts.Setenv(args[0], strconv.Itoa(shown.Sessions[0].PID))
}

// cmdStreamIs compares files, one after the other, to a program's stream.
// What a terminal was sent after the stream begins with ESC and is cut off.
//
//	stream-is SEED BYTES FILE...
func cmdStreamIs(ts *testscript.TestScript, _ bool, args []string) {
	seed, err := strconv.ParseUint(args[0], 10, 64)
	ts.Check(err)
	total, err := strconv.Atoi(args[1])
	ts.Check(err)
	want := newRandomText(seed)
	at := 0
	for _, name := range args[2:] {
		got, err := os.ReadFile(ts.MkAbs(name))
		ts.Check(err)
		got, _, _ = bytes.Cut(got, []byte("\x1b"))
		part := make([]byte, len(got))
		io.ReadFull(want, part) // never fails
		if !bytes.Equal(got, part) {
			for i := range got {
				if got[i] != part[i] {
					ts.Fatalf("%s: differs at offset %d", name, at+i)
				}
			}
		}
		at += len(got)
		ts.Logf("%s ends at offset %d", name, at)
	}
	if at != total {
		ts.Fatalf("%d bytes, want %d", at, total)
	}
}

// cmdBurst starts a program that prints and exits at once, again and again,
// and looks that no byte and no exit code is missing:
//
//	burst WORKSPACE BACKEND TIMES BYTES
func cmdBurst(ts *testscript.TestScript, _ bool, args []string) {
	times, err := strconv.Atoi(args[2])
	ts.Check(err)
	n, err := strconv.Atoi(args[3])
	ts.Check(err)
	want := make([]byte, n)
	io.ReadFull(newRandomText(uint64(n)), want)
	for i := range times {
		var complaint bytes.Buffer
		run := command(ts, "middleman", "run", args[0], "-d", "--backend", args[1], "--", "program", "burst", args[3], strconv.Itoa(i%50))
		run.Stderr = &complaint
		out, err := run.Output()
		if err != nil {
			ts.Fatalf("run %d: %v: %s", i, err, complaint.Bytes())
		}
		id := strings.TrimSpace(string(out))
		said, err := command(ts, "middleman", "wait", id, "--exit", "--timeout", "60s").CombinedOutput()
		if got := exitStatus(err); got != i%50 || len(said) > 0 {
			ts.Fatalf("run %d: exit code %d, want %d: %s", i, got, i%50, said)
		}
		got, err := command(ts, "middleman", "logs", id, "--raw").Output()
		ts.Check(err)
		if !bytes.Equal(got, want) {
			ts.Fatalf("run %d: %d bytes, want %d", i, len(got), n)
		}
	}
}

// cmdConcurrent runs a command several times at once; %d in an argument is
// the number of the run. All must succeed:
//
//	concurrent TIMES COMMAND...
func cmdConcurrent(ts *testscript.TestScript, _ bool, args []string) {
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	errs := make([]error, times)
	var wg sync.WaitGroup
	for i := range times {
		numbered := make([]string, len(args)-1)
		for j, arg := range args[1:] {
			numbered[j] = strings.ReplaceAll(arg, "%d", strconv.Itoa(i))
		}
		cmd := command(ts, numbered...)
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				errs[i] = fmt.Errorf("run %d: %w: %s", i, err, out)
			}
		})
	}
	wg.Wait()
	ts.Check(errors.Join(errs...))
}

// cmdHTTP asks the server over TCP and looks at the answer's status:
//
//	http STATUS METHOD PATH [HEADER:VALUE]...
func cmdHTTP(ts *testscript.TestScript, _ bool, args []string) {
	raw, err := os.ReadFile(filepath.Join(ts.Getenv("MIDDLEMAN_HOME"), "run", "serve.json"))
	ts.Check(err)
	var serve api.Serve
	ts.Check(json.Unmarshal(raw, &serve))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, args[1], "http://"+serve.Address+args[2], nil)
	ts.Check(err)
	for _, header := range args[3:] {
		name, value, _ := strings.Cut(header, ":")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	ts.Check(err)
	defer resp.Body.Close()
	if got := strconv.Itoa(resp.StatusCode); got != args[0] {
		body, _ := io.ReadAll(resp.Body)
		ts.Fatalf("status %s, want %s: %.500s", got, args[0], body)
	}
}

// cmdCorrupt overwrites owner.json of every session.
func cmdCorrupt(ts *testscript.TestScript, _ bool, _ []string) {
	home := ts.Getenv("MIDDLEMAN_HOME")
	for _, id := range sessionIDs(home) {
		ts.Check(os.WriteFile(filepath.Join(home, "data", "sessions", id, "owner.json"), []byte("{ not json"), 0o600))
	}
}

// cmdNewer makes the database one that a later version has migrated.
func cmdNewer(ts *testscript.TestScript, _ bool, _ []string) {
	db, err := sql.Open("sqlite", filepath.Join(ts.Getenv("MIDDLEMAN_HOME"), "data", "middleman.db"))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999999, 1)")
	ts.Check(err)
}

// cmdVar sets a variable to the one line of a file:
//
//	var VARIABLE FILE
func cmdVar(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// cmdField sets a variable to a field of what a command prints as JSON:
//
//	field VARIABLE FIELD ARGUMENT...
func cmdField(ts *testscript.TestScript, _ bool, args []string) {
	out, err := command(ts, slices.Concat([]string{"middleman"}, args[2:], []string{"--json"})...).Output()
	ts.Check(err)
	var fields map[string]json.RawMessage
	ts.Check(json.Unmarshal(out, &fields))
	if fields[args[1]] == nil {
		ts.Fatalf("no %s in %s", args[1], out)
	}
	ts.Setenv(args[0], strings.Trim(string(fields[args[1]]), `"`))
}

// cmdWorktree sets a variable to a workspace's directory:
//
//	worktree VARIABLE WORKSPACE
func cmdWorktree(ts *testscript.TestScript, _ bool, args []string) {
	out, err := command(ts, "middleman", "show", args[1], "--json").Output()
	ts.Check(err)
	var shown api.Shown
	ts.Check(json.Unmarshal(out, &shown))
	ts.Setenv(args[0], shown.Workspace.Path)
}

// cmdServers counts the servers of this script's home:
//
//	servers N
func cmdServers(ts *testscript.TestScript, _ bool, args []string) {
	n, found := 0, processesOf(ts.Getenv("MIDDLEMAN_HOME"))
	for pid, line := range found {
		// A child that has not executed its own program yet has the server's line.
		if isServer(line) && !isServer(found[parentOf(pid)]) {
			n++
		}
	}
	if strconv.Itoa(n) != args[0] {
		ts.Fatalf("%d servers, want %s", n, args[0])
	}
}

func isServer(line string) bool { return strings.Contains(line, "serve --report-ready") }

// parentOf is the id of a process's parent, 0 if the process is gone.
func parentOf(pid int) int {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	f := strings.Fields(rest) // state, parent
	if len(f) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(f[1])
	return parent
}

// cmdListen takes a port and sets a variable to its address:
//
//	listen VARIABLE
func cmdListen(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

// cmdAwait waits for a file:
//
//	await FILE
func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(waitFor(args[0], patience, func() bool {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil
	}))
}

// cmdRemoveRace deletes a workspace several times at once. One run succeeds,
// and no other speaks of anything but the name that it was given. Those that take
// over a second say how far they are before:
//
//	rm-race TIMES WORKSPACE
func cmdRemoveRace(ts *testscript.TestScript, _ bool, args []string) {
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	said := make([]string, times)
	var wg sync.WaitGroup
	for i := range times {
		cmd := command(ts, "middleman", "rm", args[1])
		wg.Go(func() {
			out, err := cmd.CombinedOutput()
			said[i] = fmt.Sprintf("%d %s", exitStatus(err), out)
		})
	}
	wg.Wait()
	won := 0
	progress := regexp.MustCompile("(?m)^deleting " + regexp.QuoteMeta(args[1]) + ": .*\n")
	for _, s := range said {
		code, text, _ := strings.Cut(s, " ")
		switch code + " " + progress.ReplaceAllString(text, "") {
		case "0 ":
			won++
		case fmt.Sprintf("1 middleman: workspace %s was deleted meanwhile\n", args[1]):
		case fmt.Sprintf("1 middleman: there is no workspace %q; `middleman ls --all` lists them\n", args[1]):
		default:
			ts.Fatalf("rm said: %s", s)
		}
	}
	if won != 1 {
		ts.Fatalf("%d runs deleted the workspace: %q", won, said)
	}
}
