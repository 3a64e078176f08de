//go:build faults && (linux || darwin)

package server_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/internal/fault"
	"middleman/ptyowner"
	"middleman/workspace"
)

// serverJob is a server that is asked for a workspace, and that a plan kills.
type serverJob struct {
	Dirs       config.Dirs
	Repository string
}

const serverJobVariable = "MIDDLEMAN_TEST_SERVER"

// TestFaultServerChild is that server.
func TestFaultServerChild(t *testing.T) {
	text := os.Getenv(serverJobVariable)
	if text == "" {
		t.Skip("only as the child of TestFaultCreateKilled")
	}
	var job serverJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	p := &place{dirs: job.Dirs, repository: job.Repository}
	p.owners = ptyowner.New(ptyowner.Options{Data: p.dirs.Data, Sessions: p.dirs.Sessions(), Runtime: p.dirs.Runtime})
	p.backend = p.owners
	p.serve(t).workspace("w", &api.NewSession{Command: []string{"cat"}})
}

// killServer runs that server until it is killed at place.
func (p *place) killServer(t *testing.T, at string) {
	t.Helper()
	plan := fault.NewPlan(t.TempDir())
	if err := plan.Set(at, fault.Kill, 0, 1); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(serverJob{p.dirs, p.repository})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFaultServerChild$")
	name, value := plan.Variable()
	cmd.Env = append(os.Environ(), serverJobVariable+"="+string(text), name+"="+value, "TMPDIR="+t.TempDir()) // a killed process leaves what it has there
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("not killed: %v\n%s", err, out)
	}
}

// repositoryState is all that a workspace could change in a repository.
func repositoryState(t *testing.T, repo string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(repo, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		b.WriteString(path + " " + string(content) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Wherever a server is killed that makes a workspace, the next one finishes it
// or takes it back, and a retry makes what was taken back.
func TestFaultCreateKilled(t *testing.T) {
	for _, x := range []struct {
		place    string
		finished bool
	}{
		{"create/recorded", false}, {"create/branch", false}, {"create/added", false}, {"create/begun", false},
		{"create/placed", true}, {"create/checkout", true}, {"create/checked-out", true}, {"create/filled", true}, {"create/session", true},
	} {
		t.Run(x.place, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			before := repositoryState(t, p.repository)
			p.killServer(t, x.place)
			r := p.serve(t)
			list := get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces
			if len(list) != 1 {
				t.Fatalf("workspaces: %+v", list)
			}
			w := get[api.Workspace](r, "GET", "/workspaces/"+list[0].ID+"?wait=60s", nil)
			if !x.finished {
				if w.State != workspace.StateFailed || !strings.Contains(w.Error, "nothing of it is left") {
					t.Errorf("after the restart: %+v", w)
				}
				if after := repositoryState(t, p.repository); after != before {
					t.Errorf("repository:\n%s\nbefore:\n%s", after, before)
				}
				if entries, _ := os.ReadDir(p.dirs.Workspaces()); len(entries) != 0 {
					t.Errorf("left: %v", entries)
				}
				get[api.Created](r, "POST", "/workspaces/"+w.ID+"/retry", nil)
				w = get[api.Workspace](r, "GET", "/workspaces/"+w.ID+"?wait=60s", nil)
			}
			if w.State != workspace.StateReady || len(w.Sessions) != 1 || w.Sessions[0].State.Ended() {
				t.Fatalf("in the end: %+v", w)
			}
			if text, err := os.ReadFile(filepath.Join(w.Root, "file")); err != nil || string(text) != "content\n" {
				t.Errorf("file: %q, %v", text, err)
			}
			for _, stage := range w.Stages {
				if stage.State == "running" {
					t.Errorf("stage %s runs still", stage.Name)
				}
			}
			if d := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?stop_sessions=1", nil); !d.Lost.Empty() {
				t.Errorf("deleted: %+v", d)
			}
			if after := repositoryState(t, p.repository); after != before {
				t.Errorf("repository after the deletion:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}
