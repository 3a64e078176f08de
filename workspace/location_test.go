package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/workspace"
)

// inside asks for a workspace in the repository.
func inside(repo, id string) workspace.CreateRequest {
	r := request(repo, id)
	r.Location = workspace.LocationRepository
	return r
}

// A workspace in the repository lives as any other: the user's checkout does
// not show it, and delete, restore and undo find it by its row.
func TestPlaceInRepository(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	repo := newRepo(t)
	write(t, repo+"/.git/info/exclude", "*.o") // without a line break
	m, base := newManager(t)
	w := create(t, m, inside(repo+"/sub/deep", "w1"))
	if w.Root != repo+"/.middleman/work/w1" || w.Subdir != "sub/deep" || w.Repository != repo {
		t.Errorf("record is %+v", w)
	}
	second := create(t, m, inside(w.Root, "w2")) // a worktree of a worktree is in the main checkout
	if second.Root != repo+"/.middleman/work/w2" {
		t.Errorf("second at %s", second.Root)
	}
	if got := runGit(t, repo, "status", "--porcelain", "--untracked-files=all"); got != "" {
		t.Errorf("the checkout shows it: %s", got)
	}
	if text, err := os.ReadFile(repo + "/.git/info/exclude"); err != nil || string(text) != "*.o\n**/.middleman/work/\n" {
		t.Errorf("exclude: %q, %v", text, err)
	}
	if info, err := os.Stat(repo + "/.middleman/work"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("place: %v, %v", info, err)
	}
	if _, err := os.Lstat(base); !os.IsNotExist(err) {
		t.Errorf("the data directory was used: %v", err)
	}
	write(t, w.Root+"/mine", "work")
	if loss, err := m.Inspect(ctx, w); err != nil || !slices.Equal(loss.Untracked, []string{"mine"}) {
		t.Errorf("loss %+v, %v", loss, err)
	}
	if loss, err := m.Delete(ctx, w, true, nil); err != nil || !loss.Restorable {
		t.Fatalf("delete: %+v, %v", loss, err)
	}
	if _, err := os.Lstat(w.Root); !os.IsNotExist(err) {
		t.Error("it is there still")
	}
	back, notes, err := m.Restore(ctx, w, nil)
	if err != nil || len(notes) != 0 || back.Root != w.Root {
		t.Fatalf("restore: %+v, %q, %v", back, notes, err)
	}
	if text, err := os.ReadFile(w.Root + "/mine"); err != nil || string(text) != "work" {
		t.Errorf("restored: %q, %v", text, err)
	}
	if err := m.Undo(ctx, recorded(inside(repo, "w2")), false); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(second.Root); !os.IsNotExist(err) {
		t.Error("the second was not undone")
	}
}

// A manager may place all workspaces in repositories; a bare one has no
// checkout for them.
func TestPlaceByOption(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	base := filepath.Join(t.TempDir(), "work")
	m := workspace.New(workspace.Options{Base: base, Location: workspace.LocationRepository})
	if w := create(t, m, request(repo, "w1")); w.Root != repo+"/.middleman/work/w1" {
		t.Errorf("root %s", w.Root)
	}
	r := request(repo, "w2")
	r.Location = workspace.LocationData
	if w := create(t, m, r); w.Root != base+"/repo/fix" {
		t.Errorf("root %s", w.Root)
	}
	bare := filepath.Join(t.TempDir(), "bare.git")
	runGit(t, "/", "clone", "-q", "--bare", repo, bare)
	if w := create(t, m, request(bare, "w3")); strings.HasPrefix(w.Root, bare) {
		t.Errorf("root %s", w.Root)
	}
	if _, err := m.Create(context.Background(), inside(bare, "w4"), nil); !errors.Is(err, workspace.ErrBadRequest) || !strings.Contains(err.Error(), bare) {
		t.Errorf("in a bare one: %v", err)
	}
}

// A repository cannot lead its workspaces elsewhere: what is planted at the
// place is refused before anything is written.
func TestPlaceRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		plant func(t *testing.T, repo, elsewhere string)
		want  error // nil is any
	}{
		{"tracked link", func(t *testing.T, repo, elsewhere string) {
			os.Symlink(elsewhere, repo+"/.middleman")
			runGit(t, repo, "add", ".middleman")
			runGit(t, repo, "commit", "-q", "-m", "link")
		}, nil},
		{"link below", func(t *testing.T, repo, elsewhere string) {
			os.Mkdir(repo+"/.middleman", 0o700)
			os.Symlink(elsewhere, repo+"/.middleman/work")
		}, nil},
		{"dangling link", func(t *testing.T, repo, elsewhere string) { os.Symlink(elsewhere+"/none", repo+"/.middleman") }, nil},
		{"a link within the repository", func(t *testing.T, repo, elsewhere string) {
			os.Mkdir(repo+"/real", 0o700)
			os.Symlink("real", repo+"/.middleman")
		}, nil},
		{"a file", func(t *testing.T, repo, elsewhere string) { write(t, repo+"/.middleman", "x") }, nil},
		{"others can write", func(t *testing.T, repo, elsewhere string) {
			os.MkdirAll(repo+"/.middleman/work", 0o700)
			os.Chmod(repo+"/.middleman/work", 0o777)
		}, nil},
		{"exclude is a link", func(t *testing.T, repo, elsewhere string) {
			os.Remove(repo + "/.git/info/exclude")
			write(t, elsewhere+"/rc", "precious\n")
			os.Symlink(elsewhere+"/rc", repo+"/.git/info/exclude")
		}, workspace.ErrBadRequest},
		{"an unknown place", nil, workspace.ErrBadRequest},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo, elsewhere := newRepo(t), t.TempDir()
			r := inside(repo, "w1")
			if tc.plant == nil {
				r.Location = "elsewhere"
			} else {
				tc.plant(t, repo, elsewhere)
			}
			m, base := newManager(t)
			before := state(t, repo, base) + state(t, repo, elsewhere)
			_, err := m.Create(context.Background(), r, nil)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v", err)
			}
			if after := state(t, repo, base) + state(t, repo, elsewhere); after != before {
				t.Errorf("changed:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}
