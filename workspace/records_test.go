package workspace_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"middleman/workspace"
)

// Several records of a repository may name one directory, which has the files of one of them
// alone: nothing is merged there for another.
func TestMergeIntoOneOfTwoRecords(t *testing.T) {
	misled := func(t *testing.T, dir, record, to string) {
		write(t, dir+"/.git/worktrees/"+record+"/gitdir", to+"/.git\n")
	}
	for name, tt := range map[string]struct {
		mislead func(t *testing.T, dir, one, two string)
		into    string
		want    string // "", or the directory that has the files: "one" or "two"
	}{
		"the first record is its":         {func(t *testing.T, dir, one, _ string) { misled(t, dir, "two", one) }, "in-one", "one"},
		"the first record is the other's": {func(t *testing.T, dir, one, _ string) { misled(t, dir, "two", one) }, "in-two", ""},
		"the last record is its":          {func(t *testing.T, dir, _, two string) { misled(t, dir, "one", two) }, "in-two", "two"},
		"the last record is the other's":  {func(t *testing.T, dir, _, two string) { misled(t, dir, "one", two) }, "in-one", ""},
		"the main checkout's":             {func(t *testing.T, dir, _, _ string) { misled(t, dir, "one", dir) }, "in-one", ""},
		"repaired": {func(t *testing.T, dir, one, two string) {
			misled(t, dir, "two", one)
			runGit(t, two, "worktree", "repair")
		}, "in-two", "two"},
		"a record of another directory too": {func(t *testing.T, dir, one, _ string) { misled(t, dir, "two", one+"-none") }, "in-one", "one"},
		"detached in the other": {func(t *testing.T, dir, one, two string) {
			runGit(t, one, "switch", "-q", "--detach")
			misled(t, dir, "one", two)
		}, "in-two", "two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := newManager(t)
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			dir, dirs := newRepo(t), map[string]string{"one": top + "/one", "two": top + "/two"}
			for _, name := range []string{"one", "two"} {
				runGit(t, dir, "worktree", "add", "-q", "-b", "in-"+name, dirs[name], "main")
			}
			w := create(t, m, request(dir, "w1"))
			commit(t, w.Root, "new.txt", "1\n")
			tt.mislead(t, dir, dirs["one"], dirs["two"])
			state := func() string {
				return runGit(t, dir, "for-each-ref") + treeState(t, dir) + treeState(t, dirs["one"]) + treeState(t, dirs["two"])
			}
			before := state()
			for _, dry := range []bool{true, false} {
				got, err := m.Merge(t.Context(), w, workspace.MergeRequest{Into: tt.into, DryRun: dry})
				switch {
				case tt.want != "" && (err != nil || got.Checkout != dirs[tt.want]):
					t.Errorf("dry %t: %+v, %v", dry, got, err)
				case tt.want == "" && (!errors.Is(err, workspace.ErrInUse) || !strings.Contains(err.Error(), "git worktree repair") ||
					!strings.Contains(err.Error(), filepath.FromSlash("by the record "+dir+"/.git/worktrees/"+strings.TrimPrefix(tt.into, "in-")+", but the .git there leads to "+dir+"/.git"))):
					t.Errorf("dry %t: merged: %+v, %v", dry, got, err)
				}
				if after := state(); (dry || tt.want == "") && after != before {
					t.Errorf("dry %t: it was\n%s\nand is\n%s", dry, before, after)
				}
			}
			if tt.want != "" && (!exists(dirs[tt.want]+"/new.txt") || runGit(t, dirs[tt.want], "status", "--porcelain") != "") {
				t.Errorf("%s has not the merged files", tt.want)
			}
		})
	}
}
