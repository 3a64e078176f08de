package basedir_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"middleman/internal/plainfile"
	"middleman/internal/testenv"
	"middleman/workspace/basedir"
)

// A junction in a workspace leads no session out of it.
func TestWithinFollowsNoJunction(t *testing.T) {
	testenv.NotUnderWine(t, "it makes no junctions")
	above := plainfile.Full(t.TempDir())
	scope, link := filepath.Join(above, "scope"), filepath.Join(above, "scope", "link")
	for _, dir := range []string{scope, filepath.Join(above, "outside", "below")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("cmd.exe", "/c", "mklink", "/J", link, filepath.Join(above, "outside")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, path := range []string{link, filepath.Join(link, "below")} {
		if got, err := basedir.Within(scope, path); !errors.Is(err, basedir.ErrLeavesScope) {
			t.Errorf("%s is %q, %v", path, got, err)
		}
	}
}
