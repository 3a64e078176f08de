package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"middleman/internal/api"
	"middleman/workspace"
)

// outcome is what became of a command of several at once.
type outcome struct {
	code int
	errs string
}

// allAtOnce runs commands at once, each given by its arguments.
func allAtOnce(ts *testscript.TestScript, commands [][]string) []outcome {
	out := make([]outcome, len(commands))
	var wg sync.WaitGroup
	for i, args := range commands {
		cmd := command(ts, args...)
		var errs strings.Builder
		cmd.Stderr = &errs
		wg.Go(func() {
			err := cmd.Run()
			out[i] = outcome{exitStatus(err), errs.String()}
		})
	}
	wg.Wait()
	return out
}

// refusedInWords reports whether a command was refused with a reason.
func (o outcome) refusedInWords() bool {
	last := o.errs[strings.LastIndexByte(strings.TrimSuffix(o.errs, "\n"), '\n')+1:]
	return o.code == 1 && strings.HasPrefix(last, "middleman: ") && !strings.Contains(o.errs, "internal error")
}

// cmdRace runs a command several times at once. WINNERS runs succeed, and each
// other is refused with a reason that contains TEXT:
//
//	race TIMES WINNERS TEXT COMMAND...
func cmdRace(ts *testscript.TestScript, _ bool, args []string) {
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	winners, err := strconv.Atoi(args[1])
	ts.Check(err)
	won := 0
	for _, o := range allAtOnce(ts, slices.Repeat([][]string{args[3:]}, times)) {
		if o.code == 0 {
			won++
		} else if !o.refusedInWords() || !strings.Contains(o.errs, args[2]) {
			ts.Fatalf("exit code %d, said %q, want %q", o.code, o.errs, args[2])
		}
	}
	if won != winners {
		ts.Fatalf("%d runs succeeded, want %d", won, winners)
	}
	cmdConsistent(ts, false, nil)
}

// cmdTogether runs commands at once, several times over. Each succeeds or is
// refused with a reason:
//
//	together TIMES COMMAND + COMMAND...
func cmdTogether(ts *testscript.TestScript, _ bool, args []string) {
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	var commands [][]string
	for _, line := range strings.Split(strings.Join(args[1:], " "), " + ") {
		commands = append(commands, strings.Fields(line))
	}
	for range times {
		for i, o := range allAtOnce(ts, commands) {
			if o.code != 0 && !o.refusedInWords() {
				ts.Fatalf("%q: exit code %d, said %q", commands[i], o.code, o.errs)
			}
		}
		cmdConsistent(ts, false, nil)
	}
}

// cmdConsistent checks that there is a directory, a branch and an entry of
// git's for each workspace of $WORK/repo, and for nothing else.
func cmdConsistent(ts *testscript.TestScript, _ bool, _ []string) {
	out, err := command(ts, "middleman", "ls", "--json").Output()
	ts.Check(err)
	var list struct{ Workspaces []api.Workspace }
	ts.Check(json.Unmarshal(out, &list))
	var ids, places, branches []string
	base := ts.Getenv("MIDDLEMAN_HOME") + "/data/workspaces/"
	for _, w := range list.Workspaces {
		if w.State != workspace.StateReady {
			ts.Fatalf("workspace %s is %s: %s", w.Name, w.State, w.Error)
		}
		places = append(places, strings.TrimPrefix(w.Root, base))
		ids, branches = append(ids, w.ID), append(branches, w.Branch)
	}
	refs, err := command(ts, "git", "-C", ts.Getenv("WORK")+"/repo", "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/middleman").Output()
	ts.Check(err)
	sorted := func(list []string) string { slices.Sort(list); return fmt.Sprintf("%q", list) }
	for what, x := range map[string][2]string{
		"directories": {sorted(places), sorted(placesOf(base))},
		"entries":     {sorted(ids), sorted(entriesOf(ts.Getenv("WORK") + "/repo/.git/worktrees"))},
		"branches":    {sorted(branches), sorted(strings.Fields(string(refs)))},
	} {
		if x[0] != x[1] {
			ts.Fatalf("%s are %s, want %s", what, x[1], x[0])
		}
	}
}

// placesOf are the paths in a base of what is in its groups, and of all else.
func placesOf(base string) []string {
	var places []string
	for _, name := range entriesOf(base) {
		if strings.HasPrefix(name, ".") {
			places = append(places, name)
			continue
		}
		for _, in := range entriesOf(filepath.Join(base, name)) {
			places = append(places, name+"/"+in)
		}
	}
	return places
}

func entriesOf(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
	var names []string
	for _, path := range append(found, hidden...) {
		if _, err := os.Lstat(path); err == nil {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}

// cmdLives deletes workspaces with work in them and restores them. Status and
// content must be as they were:
//
//	lives WORKSPACE...
func cmdLives(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		cmdWorktree(ts, false, []string{"LIVES", name})
		dir := ts.Getenv("LIVES")
		ts.Check(os.WriteFile(filepath.Join(dir, "new"), []byte("new\n"), 0o600))
		ts.Check(os.WriteFile(filepath.Join(dir, "staged"), []byte("staged\n"), 0o600))
		ts.Check(command(ts, "git", "-C", dir, "add", "staged").Run())
		look := func() string {
			out, err := command(ts, "git", "-C", dir, "status", "--porcelain=v2", "--branch").CombinedOutput()
			ts.Check(err)
			content, err := os.ReadFile(filepath.Join(dir, "new"))
			ts.Check(err)
			return string(out) + string(content)
		}
		before := look()
		if o := allAtOnce(ts, [][]string{{"middleman", "rm", name}})[0]; !o.refusedInWords() || !strings.Contains(o.errs, "untracked new") {
			ts.Fatalf("rm %s: %+v", name, o)
		}
		ts.Check(ts.Exec("middleman", "rm", name, "--discard-work", "--stop-sessions"))
		if _, err := os.Stat(dir); err == nil {
			ts.Fatalf("%s is there still", dir)
		}
		ts.Check(ts.Exec("middleman", "restore", name))
		if after := look(); after != before {
			ts.Fatalf("%s is not as it was:\n%s\nwas:\n%s", name, after, before)
		}
	}
}
