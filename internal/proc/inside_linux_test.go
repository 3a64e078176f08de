package proc

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"middleman/internal/testenv"
)

// What this process has started by an own name is left out, but not what another
// program runs by that name.
func TestInsideLeavesOutItsOwn(t *testing.T) {
	testenv.RequireTool(t, "git")
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	start := func(argv ...string) int {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		in, err := cmd.StdinPipe() // it ends when that is closed
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); cmd.Wait() })
		return cmd.Process.Pid
	}
	own := start("git", "cat-file", "--batch")
	if inside := Inside(dir); !slices.Contains(inside, own) {
		t.Errorf("git is not in %v, so that this test proves nothing", inside)
	}
	testenv.Eventually(t, time.Minute, "git has its name", func() bool { return len(Inside(dir, "git")) == 0 })
	shell := start("sh", "-c", "git cat-file --batch; :")
	testenv.Eventually(t, time.Minute, "the shell runs git", func() bool { return len(Inside(dir, "git")) == 2 })
	if got := Inside(dir, "git"); !slices.Contains(got, shell) || slices.Contains(got, own) {
		t.Errorf("%v; the shell is %d", got, shell)
	}
}
