package quarantine_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"middleman/internal/private"
	"middleman/internal/quarantine"
	"middleman/internal/sandbox"
	"middleman/internal/testenv"
)

// tryLandlock runs a script in the workspace, in a sandbox by Landlock.
func (x *world) tryLandlock(script string) ([]byte, error) {
	x.t.Helper()
	p := sandbox.Policy{
		Schema: 1, Level: sandbox.Workspace, Method: sandbox.Landlock, Workspace: x.w.ID, Dir: x.tree, Temp: x.t.TempDir(),
		Hidden: []string{filepath.Join(x.top, "quarantine")}, Writable: append([]string{x.tree, x.remote}, x.access.Writable...),
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
	cmd.Env = append(append(testenv.GitEnv(x.repo.Home), "GIT_EDITOR=true"), x.access.Env...)
	return cmd.CombinedOutput()
}

// Without mounts, variables lead git to the private directory.
func TestUnderLandlock(t *testing.T) {
	x := newWorld(t)
	if s := sandbox.Probe(); s.NoLandlock != "" {
		t.Skip(s.NoLandlock)
	}
	x.q = quarantine.At(filepath.Join(x.top, "quarantine"), x.w, sandbox.Landlock, x.hides)
	x.prepare(false)
	before := x.files()
	script := `echo n >n; git add n; git commit -qm one; git switch -qc other; git commit -q --allow-empty -m two; git stash list; git switch -q mine
		git rebase -q --exec true HEAD~1; git push -q origin mine; git fetch -q origin; git gc -q --prune=now; git fsck --no-progress; git status
		cd dir; git commit -q --allow-empty -m deep`
	if out, err := x.tryLandlock(script); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := changed(before, x.files(), func(string) bool { return false }); got != nil {
		t.Errorf("the session changed %q", got)
	}
	out := x.bring()
	if out.Commits != 2 || !out.Complete() || len(out.Pinned) != 1 {
		t.Errorf("%+v", out)
	}
	if status := x.host("status", "--porcelain"); status != "" {
		t.Errorf("status: %s", status)
	}
	if err := os.RemoveAll(filepath.Join(x.tree, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, err := x.q.Prepare(t.Context(), false); err == nil {
		t.Error("a session without .git in the checkout")
	}
}
