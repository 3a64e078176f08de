package quarantine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/internal/egress"
	"middleman/internal/private"
	"middleman/internal/quarantine"
	"middleman/internal/sandbox"
	"middleman/internal/testenv"
	"middleman/workspace/model"
)

// TestMain lets the test's own binary be the helper that makes a sandbox.
func TestMain(m *testing.M) {
	if sandbox.IsHelper(os.Args[1:]) {
		exit, _ := sandbox.Main(os.Args[1:], egress.Proxy{})
		os.Exit(exit)
	}
	if egress.IsHelper(os.Args[1:]) {
		os.Exit(egress.Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// world is a repository with a linked worktree, a remote, and the quarantine of a
// workspace there.
type world struct {
	t      *testing.T
	repo   *testenv.Repo
	top    string // the directory of all of it
	tree   string // the workspace's checkout
	remote string
	w      model.Workspace
	q      *quarantine.Quarantine
	access quarantine.Access
	env    []string // of commands in the sandbox, besides the usual
	hidden []string // from the sandbox, besides the quarantine
}

const ownBranch = "mine"

// newWorld makes a repository with three commits and a worktree on ownBranch, by git init
// with the given flags.
func newWorld(t *testing.T, initFlags ...string) *world {
	t.Helper()
	testenv.RequireTool(t, "bwrap")
	repo := testenv.EmptyRepo(t)
	if len(initFlags) > 0 {
		if err := os.RemoveAll(filepath.Join(repo.Dir, ".git")); err != nil {
			t.Fatal(err)
		}
		repo.Git(append([]string{"init", "-q", "-b", "main"}, initFlags...)...)
	}
	x := &world{t: t, repo: repo, top: filepath.Dir(repo.Dir)}
	x.tree, x.remote = filepath.Join(x.top, "tree"), filepath.Join(x.top, "remote")
	repo.Git(append([]string{"init", "-q", "--bare", "-b", "main"}, append(initFlags, x.remote)...)...)
	for i, text := range []string{"one\n", "one\ntwo\n", "one\ntwo\nthree\n"} {
		repo.Write("file", text)
		repo.Write(fmt.Sprintf("dir/%d", i), text)
		repo.Commit(fmt.Sprintf("commit %d", i))
	}
	repo.Git("remote", "add", "origin", x.remote)
	repo.Git("push", "-q", "-u", "origin", "main")
	repo.Git("worktree", "add", "-q", x.tree, "-b", ownBranch)
	x.w = model.Workspace{ID: "w0123456789abcdef", Name: "mine", Mode: model.ModeWorktree, Root: x.tree, GitDir: filepath.Join(repo.Dir, ".git"), Branch: ownBranch}
	x.open()
	return x
}

func (x *world) open() {
	x.q = quarantine.At(filepath.Join(x.top, "quarantine"), x.w, sandbox.Bubblewrap, x.hides)
}

// hides returns what imports hide.
func (x *world) hides(context.Context) ([]string, error) {
	return append([]string{filepath.Join(x.top, "quarantine")}, x.hidden...), nil
}

// inMainCheckout makes the workspace the main checkout, on ownBranch.
func (x *world) inMainCheckout() *world {
	x.t.Helper()
	x.repo.Git("worktree", "remove", x.tree)
	x.repo.Git("switch", "-q", ownBranch)
	x.tree, x.w.Root, x.w.Mode = x.repo.Dir, x.repo.Dir, model.ModeInPlace
	x.open()
	return x
}

// prepare starts a session, so to say.
func (x *world) prepare(live bool) {
	x.t.Helper()
	var err error
	if x.access, err = x.q.Prepare(x.t.Context(), live); err != nil {
		x.t.Fatal(err)
	}
}

// try runs a script in the sandbox, in the workspace.
func (x *world) try(script string) (string, error) {
	p := sandbox.Policy{
		Schema: 1, Level: sandbox.Workspace, Method: sandbox.Bubblewrap, Workspace: x.w.ID, Dir: x.tree, Temp: x.t.TempDir(),
		Hidden: append([]string{filepath.Join(x.top, "quarantine")}, x.hidden...), Show: []string{x.top}, Writable: []string{x.tree, x.remote},
		Binds: x.access.Binds, ReadOnly: x.access.ReadOnly,
	}
	raw, err := json.Marshal(p)
	if err != nil {
		x.t.Fatal(err)
	}
	file := filepath.Join(x.t.TempDir(), "policy.json")
	if err := private.Replace(file, raw, private.ThisBoot); err != nil {
		x.t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", sandbox.Command, "--policy", file, "--digest", p.Digest(), "--", "bash", "-ec", script)
	cmd.Env = append(append(testenv.GitEnv(x.repo.Home), "GIT_EDITOR=true", "GIT_PAGER=cat"), x.env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// run is try that must succeed.
func (x *world) run(script string) string {
	x.t.Helper()
	out, err := x.try(script)
	if err != nil {
		x.t.Fatalf("in the sandbox: %s: %v\n%s", script, err, out)
	}
	return out
}

// host runs git outside, in the workspace.
func (x *world) host(args ...string) string {
	x.t.Helper()
	return x.repo.Git(append([]string{"-C", x.tree}, args...)...)
}

func (x *world) bring() quarantine.Result {
	x.t.Helper()
	out, err := x.q.Import(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	return out
}

// files returns the digests of all files of the user's git directory.
func (x *world) files() map[string]string {
	x.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(x.w.GitDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found[path] = fmt.Sprintf("%x", sha256.Sum256(content))
		return err
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return found
}

// changed returns which files differ, without those for which allowed is true.
func changed(before, after map[string]string, allowed func(name string) bool) (names []string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if before[name] != after[name] && !allowed(name) {
			names = append(names, name)
		}
	}
	return names
}

// refs returns the repository's refs but for those that keep what is new.
func (x *world) refs() string {
	var kept bytes.Buffer
	for line := range strings.Lines(x.repo.Git("for-each-ref") + "\n") {
		if !strings.Contains(line, "refs/middleman/") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// outside runs a script as the user does.
func (x *world) outside(script string) error {
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir, cmd.Env = x.repo.Dir, append(testenv.GitEnv(x.repo.Home), "GIT_EDITOR=true")
	return cmd.Run()
}
