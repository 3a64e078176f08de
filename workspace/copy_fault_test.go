//go:build faults && unix

package workspace_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/fault"
	"middleman/workspace"
)

const copyJobVariable = "MIDDLEMAN_TEST_COPY"

// TestFaultCopyChild is the process that a plan may kill.
func TestFaultCopyChild(t *testing.T) {
	text := os.Getenv(copyJobVariable)
	if text == "" {
		t.Skip("only as the child of TestFaultCopy")
	}
	var w workspace.Workspace
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	m := workspace.New(workspace.Options{Base: baseOf(w)})
	if err := m.Copy(context.Background(), w, workspace.CopyRequest{Patterns: []string{"cache/"}}, nil); err != nil {
		t.Fatal(err)
	}
}

// A copy that was killed, or had no room, has left whole files, and nothing of
// its own once it was done again.
func TestFaultCopy(t *testing.T) {
	for place, action := range map[string]fault.Action{
		"copy/written": fault.Kill, "copy/placed": fault.Kill, "copy/content": fault.Full,
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			m, _ := newManager(t)
			repo := newRepo(t)
			commit(t, repo, ".gitignore", "cache/\n")
			want := map[string]string{}
			for _, name := range []string{"cache/a", "cache/b", "cache/c/d", "cache/c/e"} {
				want[name] = strings.Repeat(name, 1000)
				write(t, filepath.Join(repo, name), want[name])
			}
			w := create(t, m, request(repo, "w1"))
			before := runGit(t, repo, "status", "--porcelain", "--ignored")
			plan := fault.NewPlan(t.TempDir())
			if err := plan.Set(place, action, 2, 1); err != nil {
				t.Fatal(err)
			}
			job, err := json.Marshal(w)
			if err != nil {
				t.Fatal(err)
			}
			run := func() error {
				cmd := exec.Command(os.Args[0], "-test.run", "^TestFaultCopyChild$")
				name, value := plan.Variable()
				cmd.Env = append(os.Environ(), copyJobVariable+"="+string(job), name+"="+value, "TMPDIR="+t.TempDir()) // a killed process leaves what it has there
				return cmd.Run()
			}
			if err := run(); err == nil {
				t.Fatal("nothing happened")
			}
			for name, content := range copied(t, w.Root) {
				if content != want[name] && name != ".middleman-copy-w1" {
					t.Errorf("%s has %d bytes", name, len(content))
				}
			}
			if err := run(); err != nil {
				t.Fatalf("once more: %v", err)
			}
			same(t, copied(t, w.Root), want)
			if after := runGit(t, repo, "status", "--porcelain", "--ignored"); after != before {
				t.Errorf("the main checkout was\n%s, and is\n%s", before, after)
			}
		})
	}
}
