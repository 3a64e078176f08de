package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/internal/testenv"
	"middleman/workspace"
)

// details are what the stages of a creation said, by their names.
func details(t *testing.T, m *workspace.Manager, r workspace.CreateRequest) (workspace.Workspace, map[string]workspace.Stage) {
	t.Helper()
	said := map[string]workspace.Stage{}
	w, err := m.Create(context.Background(), r, func(s workspace.Stage) { said[s.Name] = s })
	if err != nil {
		t.Fatal(err)
	}
	return w, said
}

// Files of LFS are pointers after the checkout, whatever filter is set up, and
// fetched in a stage of their own; what keeps them from coming is said.
func TestCreateFetchesLFS(t *testing.T) {
	repo := newRepo(t)
	commit(t, repo, ".gitattributes", "*.bin filter=lfs -text\n")
	commit(t, repo, "sub/x.bin", "pointer\n")
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace")
	install := func(script string) {
		t.Helper()
		body := fmt.Sprintf("#!/bin/sh\necho \"$*\" >> '%s'\n%s\n", trace, script)
		testenv.WriteProgram(t, filepath.Join(dir, "git-lfs"), body)
	}
	runGit(t, repo, "config", "filter.lfs.process", "git-lfs filter-process")
	runGit(t, repo, "config", "filter.lfs.required", "true")
	m, _ := newManager(t)
	t.Run("not installed", func(t *testing.T) {
		w, said := details(t, m, request(repo, "w1"))
		if s := said["lfs"]; s.State != "failed" || s.Detail != "1 files of Git LFS are still pointers: git-lfs is not installed" {
			t.Errorf("stage %+v", s)
		}
		if text, err := os.ReadFile(w.Root + "/sub/x.bin"); err != nil || string(text) != "pointer\n" {
			t.Errorf("file: %q, %v", text, err)
		}
	})
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for i, tc := range []struct{ name, script, state, detail, config string }{
		{"installed", "exit 0", "done", "", ""},
		{"fails", "echo no such host >&2; exit 2", "failed", "no such host", ""},
		{"a program of the repository's", "exit 0", "failed", "lfs.customtransfer.evil.path", "lfs.customtransfer.evil.path"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			install(tc.script)
			os.Remove(trace)
			if tc.config != "" {
				runGit(t, repo, "config", tc.config, "/bin/true")
			}
			_, said := details(t, m, request(repo, "v"+string(rune('a'+i))))
			if s := said["lfs"]; s.State != tc.state || !strings.Contains(s.Detail, tc.detail) {
				t.Errorf("stage %+v", s)
			}
			ran, _ := os.ReadFile(trace)
			if want := map[bool]string{true: "", false: "pull\n"}[tc.config != ""]; string(ran) != want {
				t.Errorf("git-lfs ran %q, want %q", ran, want)
			}
		})
	}
}

// Submodules are not checked out, which a stage says.
func TestCreateNamesSubmodules(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	runGit(t, repo, "submodule", "--quiet", "add", newRepo(t), "mod")
	runGit(t, repo, "commit", "-q", "-m", "Add mod")
	m, _ := newManager(t)
	w, said := details(t, m, request(repo, "w1"))
	if s := said["checkout"]; !strings.Contains(s.Detail, "1 submodule not checked out") {
		t.Errorf("stage %+v", s)
	}
	if entries, err := os.ReadDir(w.Root + "/mod"); err != nil || len(entries) != 0 {
		t.Errorf("submodule: %v, %v", entries, err)
	}
}

// Filters of the repository's configuration run with consent alone; those of
// the user's always do.
func TestCreateFilters(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	commit(t, repo, ".gitattributes", "*.f filter=shout\n")
	commit(t, repo, "x.f", "quiet\n")
	command, traces := canary(t)
	runGit(t, repo, "config", "filter.shout.smudge", command)
	runGit(t, repo, "config", "filter.shout.required", "true")
	m, _ := newManager(t)
	w, said := details(t, m, request(repo, "w1"))
	if text, err := os.ReadFile(w.Root + "/x.f"); err != nil || string(text) != "quiet\n" || traces() != "" {
		t.Errorf("file: %q, %v, ran %q", text, err, traces())
	}
	if s := said["checkout"]; !strings.Contains(s.Detail, "did not run (shout)") {
		t.Errorf("stage %+v", s)
	}
	r := request(repo, "w2")
	r.Filters = true
	if _, said := details(t, m, r); traces() == "" || said["checkout"].Detail != "" {
		t.Errorf("with consent: %+v, ran %q", said["checkout"], traces())
	}
}

// An inspection runs no filter, and nevertheless finds that nothing was changed.
func TestFilteredFilesAreUnchanged(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	runGit(t, repo, "config", "filter.shout.clean", "tr a-z A-Z")
	runGit(t, repo, "config", "filter.shout.smudge", "tr A-Z a-z")
	commit(t, repo, ".gitattributes", "*.f filter=shout\n")
	commit(t, repo, "x.f", "quiet\n")
	m, _ := newManager(t)
	r := request(repo, "w1")
	r.Filters = true
	w := create(t, m, r)
	if text, err := os.ReadFile(w.Root + "/x.f"); err != nil || string(text) != "quiet\n" {
		t.Fatalf("file: %q, %v", text, err)
	}
	loss, err := m.Inspect(t.Context(), w)
	if err != nil || !loss.Empty() {
		t.Errorf("%+v, %v", loss, err)
	}
	write(t, w.Root+"/x.f", "other\n")
	if loss, err = m.Inspect(t.Context(), w); err != nil || !slices.Equal(loss.Changed, []string{"x.f"}) {
		t.Errorf("changed: %+v, %v", loss, err)
	}
}

// A checkout that takes longer than a second says how far it is, a few times a
// second at most.
func TestCheckoutSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	write(t, repo+"/.gitattributes", "*.slow filter=slow\n")
	for i := range 6 {
		write(t, fmt.Sprintf("%s/%d.slow", repo, i), "x\n")
	}
	runGit(t, repo, "add", ".")
	runGit(t, repo, "commit", "-q", "-m", "Slow files")
	runGit(t, repo, "config", "filter.slow.smudge", "sleep 0.4; cat") // it is the user's program that takes long
	m, _ := newManager(t)
	r := request(repo, "w1")
	r.Filters = true
	var told []workspace.Stage
	_, err := m.Create(context.Background(), r, func(s workspace.Stage) {
		if s.State == "running" && s.Detail != "" {
			told = append(told, s)
		}
	})
	if err != nil || len(told) == 0 || len(told) > 20 {
		t.Fatalf("told %+v, %v", told, err)
	}
	for _, s := range told {
		if s.Name != "checkout" || !strings.Contains(s.Detail, "/9) files") {
			t.Errorf("stage %+v", s)
		}
	}
}
