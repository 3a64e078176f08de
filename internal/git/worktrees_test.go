package git

import (
	"context"
	"os"
	"slices"
	"testing"
)

// A list that git begins, gives up and begins anew is taken once.
func TestListTakenOnce(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf 'worktree /a\\0branch refs/heads/a\\0\\0'\n" +
		"test -e " + dir + "/met && exit\n>" + dir + "/met; echo \"fatal: failed to read '/a/.git/worktrees/b/locked': gone\" >&2; exit 128\n"
	if err := os.WriteFile(dir+"/git", []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	list, err := Whole(dir).Worktrees(context.Background())
	if want := []Worktree{{Path: "/a", Branch: "refs/heads/a"}}; err != nil || !slices.Equal(list, want) {
		t.Errorf("%+v, %v, want %+v", list, err, want)
	}
}
