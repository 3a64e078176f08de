//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"middleman/internal/systemd"
	"middleman/internal/testenv"
)

// TestMain makes this test binary the real middleman, and the programs that
// scripts run in its sessions. Helper processes, started as /proc/self/exe,
// do not come this far.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"middleman": main,
		"program":   program,
		"standin":   standin,
	})
}

func TestScripts(t *testing.T) {
	t.Parallel() // with the others: scripts wait more than they compute
	testscript.Run(t, scripts(filepath.Join("testdata", "script")))
}

// TestHostScripts runs the scripts that hold for sessions on every host:
// $BACKEND is what they are started with.
func TestHostScripts(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"pty-owner", "tmux"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			if there, err := condition("tmux"); backend == "tmux" && !there {
				if err != nil {
					t.Fatal(err)
				}
				t.Skip("tmux is not installed: apt-get install tmux")
			}
			p := scripts(filepath.Join("testdata", "hosts"))
			p.Setup = func(env *testscript.Env) error {
				env.Setenv("BACKEND", backend)
				return setup(env)
			}
			testscript.Run(t, p)
		})
	}
}

// scripts are those in dir, with what they may use.
func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:       dir,
		Setup:     setup,
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":      cmdStatus,
			"fails":       cmdFails,
			"kill-server": cmdKillServer,
			"kill-owners": cmdKillOwners,
			"getpid":      cmdGetPID,
			"term":        cmdTerm,
			"stream-is":   cmdStreamIs,
			"burst":       cmdBurst,
			"concurrent":  cmdConcurrent,
			"http":        cmdHTTP,
			"rm-race":     cmdRemoveRace,
			"prompts":     cmdPrompts,
			"at-once":     cmdAtOnce,
			"race":        cmdRace,
			"together":    cmdTogether,
			"consistent":  cmdConsistent,
			"lives":       cmdLives,
			"corrupt":     cmdCorrupt,
			"newer":       cmdNewer,
			"restoring":   cmdRestoring,
			"harmless":    cmdHarmless,
			"silent":      cmdSilent,
			"bytes":       cmdBytes,

			"hostile-argument": cmdHostileArgument,
			"var":              cmdVar,
			"field":            cmdField,
			"worktree":         cmdWorktree,
			"servers":          cmdServers,
			"listen":           cmdListen,
			"await":            cmdAwait,
			"until":            cmdUntil,
			"hang":             cmdHang,
			"within":           cmdWithin,
			"idle":             cmdIdle,
			"agent":            cmdAgent,
			"trap":             cmdTrap,
			"sessions":         cmdSessions,
			"keys":             cmdKeys,
		},
	}
}

// setup gives each script a home of its own, whose path is short enough for
// sockets, and ends at its end what runs there.
func setup(env *testscript.Env) error {
	home, err := os.MkdirTemp(testenv.ShortParent(), "mm")
	if err != nil {
		return err
	}
	t := env.T().(interface {
		Errorf(format string, args ...any)
		Logf(format string, args ...any)
		Failed() bool
	})
	env.Defer(func() {
		if log, err := os.ReadFile(filepath.Join(home, "data", "server.log")); err == nil && t.Failed() {
			t.Logf("server.log:\n%s", log)
		}
		if err := endSessions(home); err != nil {
			t.Errorf("end the sessions: %v", err)
		}
		// What ends by itself with the last of others is given its time.
		_ = waitFor("end of all", patience, func() bool { return len(processesOf(home)) == 0 })
		if left := processesOf(home); len(left) > 0 {
			t.Errorf("left behind: %v", left)
			killAll(left)
		}
		os.RemoveAll(home)
	})
	for name, value := range map[string]string{
		"MIDDLEMAN_HOME":      home,
		"HOME":                filepath.Join(env.WorkDir, "user"),
		"LC_ALL":              "C.UTF-8",
		"LC_MIDDLEMAN_TEST":   home, // LC_* reaches sessions and workers, so that these are found
		"TERM":                "xterm-256color",
		"SHELL":               "/bin/sh",
		"CI":                  os.Getenv("CI"),
		"GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME":     "n", "GIT_AUTHOR_EMAIL": "n@example.org",
		"GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "n@example.org",
		"STREAM": "50000000", "GATE": "20000000", "BURSTS": "50",
	} {
		env.Setenv(name, value)
	}
	switch {
	case testing.Short():
		env.Setenv("STREAM", "2000000")
		env.Setenv("GATE", "800000")
		env.Setenv("BURSTS", "10")
	case raced:
		env.Setenv("STREAM", "4000000")
		env.Setenv("GATE", "1500000")
		env.Setenv("BURSTS", "10")
	case os.Getenv("MIDDLEMAN_LONG") == "1":
		env.Setenv("BURSTS", "500")
	}
	env.Values[terminals{}] = map[string]*ptyTerminal{}
	return makeRepository(env)
}

// makeRepository makes $WORK/repo with one commit, and $WORK/user with a .profile.
func makeRepository(env *testscript.Env) error {
	repo := filepath.Join(env.WorkDir, "repo")
	for _, dir := range []string{repo, filepath.Join(env.WorkDir, "user")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	// What the server starts by itself finds the programs of scripts by the login.
	profile := filepath.Join(env.WorkDir, "user", ".profile")
	if err := os.WriteFile(profile, fmt.Appendf(nil, "export PATH='%s' LC_MIDDLEMAN_TEST='%s'\n", env.Getenv("PATH"), env.Getenv("LC_MIDDLEMAN_TEST")), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(repo, "a.txt"), []byte("a\n"), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-qb", "main"}, {"add", "."}, {"commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = repo, env.Vars
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w: %s", args, err, out)
		}
	}
	return nil
}

// condition tells scripts what is here. In CI a missing tool is an
// error, not a reason to skip.
func condition(name string) (bool, error) {
	switch name {
	case "tmux":
		_, err := exec.LookPath("tmux")
		if err != nil && os.Getenv("CI") == "true" {
			return false, errors.New("tmux is missing, and CI=true")
		}
		return err == nil, nil
	case "root":
		return os.Geteuid() == 0, nil
	case "race":
		return raced, nil
	case "systemd":
		return systemd.Booted(), nil
	}
	return false, fmt.Errorf("there is no condition %q", name)
}

// endSessions asks the binary under test to stop every session of home, and
// ends its server.
func endSessions(home string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(home, "data")); err != nil {
		return nil // nothing ever ran
	}
	link := filepath.Join(home, "middleman")
	if err := os.Symlink(self, link); err != nil {
		return err
	}
	defer os.Remove(link)
	for _, id := range sessionIDs(home) {
		cmd := exec.Command(link, "stop", id, "--grace", "0s")
		cmd.Env = append(os.Environ(), "MIDDLEMAN_HOME="+home, "TMPDIR="+home) // a server that is killed leaves what it has there
		if out, err := cmd.CombinedOutput(); err != nil {
			// A session that a script has broken cannot be stopped; what is
			// left of it is found by its processes.
			fmt.Fprintf(os.Stderr, "stop %s: %v: %s", id, err, out)
		}
	}
	if pid := serverPID(home); pid != 0 {
		if err := endProcess(pid); err != nil {
			return err
		}
	}
	return endTmux(home)
}

// patience is how long a test waits for what must come.
const patience = time.Minute

// waitFor polls a condition that the system gives no event for.
func waitFor(what string, limit time.Duration, done func() bool) error {
	deadline := time.Now().Add(limit)
	for !done() {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %s", what, limit)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}
