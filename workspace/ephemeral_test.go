package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/workspace"
)

func TestEphemeral(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, tc := range []struct {
		name string
		use  func(t *testing.T, w workspace.Workspace) error
		kept bool
		err  error
	}{
		{"nothing", func(*testing.T, workspace.Workspace) error { return nil }, false, nil},
		{"failed", func(*testing.T, workspace.Workspace) error { return broken }, false, broken},
		{"ignored files", func(t *testing.T, w workspace.Workspace) error {
			write(t, w.GitDir+"/info/exclude", "*.log\n")
			write(t, w.Root+"/x.log", "x")
			return nil
		}, false, nil},
		{"work", func(t *testing.T, w workspace.Workspace) error {
			write(t, w.Root+"/new", "x")
			return nil
		}, true, nil},
		{"failed with work", func(t *testing.T, w workspace.Workspace) error {
			commit(t, w.Root, "new", "x")
			return broken
		}, true, broken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t)
			m, base := newManager(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			before := runGit(t, repo, "for-each-ref")
			var w workspace.Workspace
			err := m.Ephemeral(ctx, request(repo, "w1"), func(_ context.Context, made workspace.Workspace) error {
				w = made
				defer cancel() // the end of ctx is not that of the cleaning up
				return tc.use(t, made)
			})
			if _, kept := errors.AsType[*workspace.WorkError](err); kept != tc.kept || tc.err != nil && !errors.Is(err, tc.err) || !tc.kept && tc.err == nil && err != nil {
				t.Errorf("error %v", err)
			}
			if _, err := os.Stat(w.Root); (err == nil) != tc.kept || !w.Ephemeral {
				t.Errorf("%+v: %v", w, err)
			}
			if tc.kept {
				return
			}
			if entries, _ := os.ReadDir(base); len(entries) != 0 || runGit(t, repo, "for-each-ref") != before {
				t.Errorf("left: %v, %s", entries, runGit(t, repo, "for-each-ref"))
			}
		})
	}
}

// Each file in a plain directory is work.
func TestEphemeralDirectory(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "made"} {
		m, base := newManager(t)
		var root string
		err := m.Ephemeral(context.Background(), workspace.CreateRequest{ID: "d1", Name: "d", Mode: workspace.ModeDirectory},
			func(_ context.Context, w workspace.Workspace) error {
				if root = w.Root; file != "" {
					write(t, filepath.Join(root, file), "x")
				}
				return os.MkdirAll(filepath.Join(root, "empty"), 0o700)
			})
		if _, kept := errors.AsType[*workspace.WorkError](err); kept != (file != "") || !kept && err != nil {
			t.Errorf("with %q: %v", file, err)
		}
		if entries, _ := os.ReadDir(base); (len(entries) != 0) != (file != "") || filepath.Dir(root) != base {
			t.Errorf("with %q: left %v", file, entries)
		}
	}
}

// A program that panics leaves nothing either.
func TestEphemeralPanics(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	func() {
		defer func() { _ = recover() }()
		_ = m.Ephemeral(context.Background(), request(newRepo(t), "w1"), func(context.Context, workspace.Workspace) error { panic("x") })
	}()
	if entries, _ := os.ReadDir(base); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
}

// A command in a worktree of its own, which goes with it unless it holds work.
func ExampleManager_Ephemeral() {
	repo, base := exampleRepository()
	defer os.RemoveAll(repo)
	defer os.RemoveAll(base)
	m := workspace.New(workspace.Options{Base: base})
	run := func(name string, args ...string) error {
		r := workspace.CreateRequest{ID: "w1", Name: "job", Mode: workspace.ModeWorktree, Directory: repo}
		return m.Ephemeral(context.Background(), r, func(ctx context.Context, w workspace.Workspace) error {
			cmd := exec.CommandContext(ctx, name, args...)
			cmd.Dir, cmd.Env = w.Path(), append(os.Environ(), w.Env()...)
			out, err := cmd.CombinedOutput()
			fmt.Print(string(out))
			return err
		})
	}
	fmt.Println(run("sh", "-c", "echo on $MIDDLEMAN_WORKSPACE_BRANCH"))
	err := run("sh", "-c", "echo precious > new")
	if kept, ok := errors.AsType[*workspace.WorkError](err); ok {
		fmt.Println("kept:", strings.Join(kept.Loss.Untracked, ", "))
	}
	// Output:
	// on middleman/job
	// <nil>
	// kept: new
}

func exampleRepository() (repo, base string) {
	var err error
	for _, dir := range []*string{&repo, &base} {
		if *dir, err = os.MkdirTemp("", "example-"); err != nil {
			log.Fatal(err)
		}
	}
	if out, err := tryShell(repo, "git init -q && git commit -q --allow-empty -m first"); err != nil {
		log.Fatal(out)
	}
	return repo, base
}
