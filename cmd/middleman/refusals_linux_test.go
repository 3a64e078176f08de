package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// refusal is something that keeps a workspace from being deleted, or is only
// named (free).
type refusal struct {
	name    string
	session string // runs in the workspace, "" for none
	before  string // a shell script, in the repository
	do      string // a shell script, in the worktree
	lost    string // each line of what would be lost, as text: an expression
	json    string // in the JSON: an expression
	consent string // the flag, "" for what is only named
	forgone string // what would not be kept: an expression, "" for nothing
	fails   string // rm -n cannot tell either, and says this
	after   string // a line of script before the delete with consent
}

var refusals = []refusal{
	{name: "changed", do: `echo x >> a.txt`, lost: `changed a\.txt`, json: `"changed": \[\s+"a\.txt"\s+\]`, consent: "--discard-work"},
	{name: "staged", do: `echo x >> a.txt; git add a.txt; git show HEAD:a.txt > a.txt`, lost: `changed a\.txt`, json: `"changed": \[\s+"a\.txt"\s+\]`,
		consent: "--discard-work"},
	{name: "deleted", do: `rm a.txt`, lost: `changed a\.txt`, json: `"changed": \[\s+"a\.txt"\s+\]`, consent: "--discard-work"},
	{name: "untracked", do: `echo x > new; echo x > 'odd
name'`, lost: `untracked "odd\\nname"`, json: `"untracked": \[\s+"new",\s+"\\"odd\\\\nname\\""\s+\]`, consent: "--discard-work"},
	{name: "stashed", do: `echo x >> a.txt; git stash -q`, lost: `stash stash@\{0\}: WIP on middleman/w: .* first \(it stays in the repository, without its branch\)`,
		json: `"stashed": \[\s+"stash@\{0\}: WIP on middleman/w: [^"]* first"\s+\]`, consent: "--discard-work"},
	{name: "commits", do: `git commit -qm second --allow-empty`, lost: `commit [0-9a-f]+ second`, json: `"commits": \[\s+"[0-9a-f]+ second"\s+\]`,
		consent: "--discard-work"},
	{name: "commits on a detached head", do: `git checkout -q --detach; git commit -qm second --allow-empty`, lost: `commit [0-9a-f]+ second`,
		json: `"commits": \[\s+"[0-9a-f]+ second"\s+\]`, consent: "--discard-work"},
	{name: "operation", before: `git checkout -qb side; echo side > a.txt; git commit -qam side; git checkout -q main`,
		do:   `echo mine > a.txt; git commit -qam mine; git merge -q side || true`,
		lost: `merge in progress`, json: `"operation": "merge"`, consent: "--discard-work"},
	{name: "nested repository", do: `git init -q inner; git -C inner commit -qm x --allow-empty`, lost: `untracked inner/ \(a repository\)`,
		json: `"untracked": \[\s+"inner/ \(a repository\)"\s+\]`, consent: "--discard-work"},
	{name: "ignored nested repository", before: `echo /deps/ > .git/info/exclude`, do: `git init -q deps/inner`,
		lost: `untracked deps/inner/ \(a repository\)`, json: `"untracked": \[\s+"deps/inner/ \(a repository\)"\s+\]`, consent: "--discard-work"},
	{name: "nested worktree", do: `git worktree add -q -b other inner`, lost: `untracked inner/ \(the worktree of branch other\)`,
		json: `"untracked": \[\s+"inner/ \(the worktree of branch other\)"\s+\]`, consent: "--discard-work"},
	{name: "work in a submodule",
		before: `git init -q ../mod; git -C ../mod commit -qm m --allow-empty; git -c protocol.file.allow=always submodule --quiet add ../mod mod; git commit -qm mod`,
		do:     `git -c protocol.file.allow=always submodule --quiet update --init; echo x > mod/new; git -C mod checkout -qb work; git -C mod commit -qm inside --allow-empty`,
		lost:   `untracked mod/new`, json: `"commits": \[\s+"mod: [0-9a-f]+ inside"\s+\]`, consent: "--discard-work"},
	{name: "running session", session: "sleep 1000", lost: `session w/sleep`, json: `"sessions": \[\s+\{[^}]*"name": "sleep"`,
		consent: "--stop-sessions"},
	{name: "processes of an ended session", session: `sh -c 'trap "" HUP; sleep 1000 >/dev/null 2>&1 & echo $!'`, after: "exec middleman wait w/sh --exit",
		lost: `session w/sh \(exited \(0\), has left processes\)`, json: `"left": \[\s+[0-9]+\s+\]`, consent: "--stop-sessions"},
	{name: "unknown", do: `echo garbage > $(git rev-parse --git-dir)/index`, fails: `cannot tell what would be lost: .*index`, consent: "--discard-work",
		forgone: `contents that only the index named \(git cannot read them\)`},
	{name: "ignored", before: `echo '*.log' > .git/info/exclude`, do: `echo x > x.log`, lost: `ignored x\.log`, json: `"ignored": \[\s+"x\.log"\s+\]`},
	{name: "ignored and large", before: `printf '*.log\n/build/\n' > .git/info/exclude`, do: `echo x > x.log; mkdir build; truncate -s 3M build/out; touch build/two`,
		lost: `ignored build/`, json: `"ignored": \[\s+"build/",\s+"x\.log"\s+\]`, forgone: `ignored build/ \(2 files, 3\.0 MiB: too large\)`},
	{name: "commits that only a reflog has", do: `git commit -qm second --allow-empty; git reset -q --hard main`, lost: `commit of the reflog [0-9a-f]+ second`,
		json: `"abandoned": \[\s+"[0-9a-f]+ second"\s+\]`},
}

// Each refusal of a delete says what would be lost, as text and as JSON, and
// with -n what would be kept of it; no other consent than its own goes round
// it; with that the workspace goes, and a restore brings it back.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	for i, r := range refusals {
		name := fmt.Sprintf("%02d-%s.txtar", i, strings.ReplaceAll(r.name, " ", "-"))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(r.script()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, scripts(dir))
}

// script is the test of r. Arguments in it are quoted by '…'.
func (r refusal) script() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	line("cd repo")
	line("exec sh -e $WORK/before.sh")
	if r.session == "" {
		line("exec middleman new w -d --no-session")
	} else {
		line("exec middleman new w -d --backend pty-owner -- %s", r.session)
	}
	line("worktree DIR w")
	line("exec sh -e -c 'cd $0; . $1' $DIR $WORK/do.sh")
	if r.after != "" {
		line("%s", r.after)
	}
	wrong := "--discard-work"
	if r.consent == wrong {
		wrong = "--stop-sessions"
	}
	switch {
	case r.fails != "":
		for _, flags := range []string{"", " -n", " --json", " -n --discard-work", " " + wrong + " --skip-teardown"} {
			line("fails 1 %s middleman rm w%s", quote("cannot tell what would be lost"), flags)
			line("stderr %s", quote(r.fails))
		}
	case r.consent != "":
		would := map[bool]string{true: "would be stopped", false: "would be lost"}[r.consent == "--stop-sessions"]
		for _, flags := range []string{"", " " + wrong + " --skip-teardown"} {
			line("status 1 middleman rm w%s", flags)
			line("! stdout .")
			line("stderr %s", quote("^"+would+": "+r.lost+"$"))
			line("stderr %s", quote("^"+r.consent+" consents to that$"))
		}
		line("status 1 middleman rm w --json")
		line("stdout %s", quote(`"schema": 1,\s+"refused"`))
		line("stdout %s", quote(r.json))
		line("! stderr %s", quote("^would be"))
		line("stderr .")
	}
	if r.fails == "" {
		line("exec middleman rm -n w")
		stopped := map[bool]string{true: "would be stopped: "}[r.consent == "--stop-sessions"]
		line("stdout %s", quote("^"+stopped+r.lost+"$"))
		if r.forgone != "" {
			line("stdout %s", quote("^would not be kept: "+r.forgone+"$"))
			line("stdout %s", quote("would bring the rest back$"))
		} else if r.session == "" {
			line("stdout %s", quote("^would be kept: `middleman restore w` would bring all of it back$"))
			line("! stdout 'not be kept'")
		}
		line("exec middleman rm -n w --json")
		line("stdout '\"dry_run\": true'")
		if r.session == "" {
			line("stdout %s", quote(r.json))
			line("stdout '\"restorable\": true'")
		}
	}
	line("exists $DIR")
	line("exec middleman rm w %s", r.consent)
	line("! stdout .")
	line("! exists $DIR")
	if r.fails != "" {
		line("stderr %s", quote("^not kept: "+r.forgone+"$"))
	}
	if r.session == "" {
		line("stderr 'middleman restore w'")
		line("exec middleman restore w")
		line("exists $DIR")
	}
	return b.String() + "-- before.sh --\n" + r.before + "\n-- do.sh --\n" + r.do + "\n"
}
