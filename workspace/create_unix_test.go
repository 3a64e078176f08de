//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"middleman/internal/testenv"
	"middleman/workspace"
)

func TestCreateRefusesUnsafeBase(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	for _, tc := range []struct {
		name string
		base func(dir string) (base, named string)
		want error
	}{
		{"symbolic link", func(dir string) (string, string) {
			os.Mkdir(dir+"/real", 0o700)
			os.Symlink(dir+"/real", dir+"/link")
			return dir + "/link", dir + "/link"
		}, workspace.ErrUnsafeBase},
		{"dangling link", func(dir string) (string, string) {
			os.Symlink(dir+"/none", dir+"/link")
			return dir + "/link", dir + "/link"
		}, workspace.ErrUnsafeBase},
		{"dangling link above", func(dir string) (string, string) {
			os.Symlink(dir+"/none", dir+"/link")
			return dir + "/link/base", dir + "/link"
		}, os.ErrNotExist},
		{"others can write", func(dir string) (string, string) {
			os.Mkdir(dir+"/base", 0o700)
			os.Chmod(dir+"/base", 0o777)
			return dir + "/base", dir + "/base"
		}, workspace.ErrUnsafeBase},
		{"the group can write", func(dir string) (string, string) {
			os.Mkdir(dir+"/base", 0o700)
			os.Chmod(dir+"/base", 0o770)
			return dir + "/base", dir + "/base"
		}, workspace.ErrUnsafeBase},
		{"all can write above", func(dir string) (string, string) {
			os.Mkdir(dir+"/open", 0o700)
			os.Chmod(dir+"/open", 0o777)
			return dir + "/open/base", dir + "/open"
		}, workspace.ErrUnsafeBase},
		{"a file", func(dir string) (string, string) {
			os.WriteFile(dir+"/file", nil, 0o600)
			return dir + "/file", dir + "/file"
		}, workspace.ErrUnsafeBase},
		{"relative", func(string) (string, string) { return "base", "base" }, workspace.ErrUnsafeBase},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			base, named := tc.base(dir)
			before := state(t, repo, dir)
			_, err = workspace.New(workspace.Options{Base: base}).Create(context.Background(), request(repo, "w1"), nil)
			if !errors.Is(err, tc.want) {
				t.Fatalf("error %v, want %v", err, tc.want)
			}
			if !strings.Contains(err.Error(), named) {
				t.Errorf("error does not name %s: %v", named, err)
			}
			if after := state(t, repo, dir); after != before {
				t.Errorf("changed:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// A base that another user could replace is refused, whichever directory above it
// they can write to.
func TestCreateRefusesForeignBase(t *testing.T) {
	testenv.NeedRoot(t, "give a directory to another user")
	repo := newRepo(t)
	for name, spoil := range map[string]func(dir string) error{
		"belongs to user 61234": func(dir string) error { return os.Chown(dir, 61234, -1) },
		"is writable by others": func(dir string) error { return os.Chmod(dir, 0o770) },
	} {
		for _, below := range []string{"", "/base"} {
			dir := filepath.Join(t.TempDir(), "dir")
			if err := errors.Join(os.Mkdir(dir, 0o700), spoil(dir)); err != nil {
				t.Fatal(err)
			}
			_, err := workspace.New(workspace.Options{Base: dir + below}).Create(context.Background(), request(repo, "w1"), nil)
			if !errors.Is(err, workspace.ErrUnsafeBase) || !strings.Contains(err.Error(), dir+" "+name) {
				t.Errorf("%s%s: %v", name, below, err)
			}
		}
	}
}

// A creation that is cancelled while git checks out leaves nothing. The
// checkout is held by a filter of the user's that waits on a pipe.
func TestCreateCancelled(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	commit(t, repo, ".gitattributes", "*.held filter=held\n")
	commit(t, repo, "x.held", "x\n")
	started, held := filepath.Join(t.TempDir(), "started"), filepath.Join(t.TempDir(), "held")
	for _, pipe := range []string{started, held} {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runGit(t, repo, "config", "filter.held.smudge", "echo > '"+started+"'; cat '"+held+"'")
	m, base := newManager(t)
	before := state(t, repo, base)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = os.ReadFile(started)
		cancel()
	})
	r := request(repo, "w1")
	r.Filters = true
	_, err := m.Create(ctx, r, nil)
	wg.Wait()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if after := state(t, repo, base); after != before {
		t.Errorf("left behind:\n%s\nbefore:\n%s", after, before)
	}
}
