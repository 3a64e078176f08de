package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"middleman/internal/git"
	"middleman/internal/testenv"
)

// A view that cannot be made is an error, and leaves nothing.
func TestViewThatCannotBeMade(t *testing.T) {
	top := t.TempDir()
	t.Setenv("TMPDIR", top)
	r := testenv.NewRepo(t)
	dir := filepath.Join(r.Dir, ".git")
	if err := os.Remove(filepath.Join(dir, "HEAD")); err != nil {
		t.Fatal(err)
	}
	var v git.Views
	if view, err := v.Open(t.Context(), git.Dirs{GitDir: dir, CommonDir: dir, WorkTree: r.Dir}); !errors.Is(err, os.ErrNotExist) || view != nil {
		t.Errorf("%v, %v", view, err)
	}
	if left, err := os.ReadDir(top); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
