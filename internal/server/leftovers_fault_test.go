//go:build faults && (linux || darwin)

package server_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/internal/fault"
	"middleman/ptyowner"
)

// askJob is a server that is asked for something, and that a plan kills.
type askJob struct {
	Dirs       config.Dirs
	Repository string
	Method     string
	Path       string
	Body       json.RawMessage
}

const askJobVariable = "MIDDLEMAN_TEST_ASK"

// TestFaultAskChild is that server.
func TestFaultAskChild(t *testing.T) {
	text := os.Getenv(askJobVariable)
	if text == "" {
		t.Skip("only as the child of TestFaultLeftoversKilled")
	}
	var job askJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	p := &place{dirs: job.Dirs, repository: job.Repository}
	p.owners = ptyowner.New(ptyowner.Options{Data: p.dirs.Data, Sessions: p.dirs.Sessions(), Runtime: p.dirs.Runtime})
	p.backend = p.owners
	p.serve(t).call(job.Method, job.Path, job.Body)
}

// killAsked runs that server until it is killed at a place.
func (p *place) killAsked(t *testing.T, at, path string, body any) {
	t.Helper()
	p.killAsking(t, at, "POST", path, body)
}

// killAsking is killAsked with any method.
func (p *place) killAsking(t *testing.T, at, method, path string, body any) {
	t.Helper()
	plan := fault.NewPlan(t.TempDir())
	if err := plan.Set(at, fault.Kill, 0, 1); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(askJob{p.dirs, p.repository, method, path, raw})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFaultAskChild$")
	name, value := plan.Variable()
	cmd.Env = append(os.Environ(), askJobVariable+"="+string(text), name+"="+value, "TMPDIR="+t.TempDir()) // a killed process leaves what it has there
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("not killed: %v\n%s", err, out)
	}
}

// leftoverFault is what is asked of a server that is killed.
type leftoverFault struct {
	places []string
	// arrange leaves what is to be dealt with, of a workspace that has a row,
	// and returns the request. The server has ended then.
	arrange func(t *testing.T, p *place, r *running, w api.Workspace) (path string, body any)
	// ends checks what came of it in the end.
	ends func(t *testing.T, p *place, r *running, w api.Workspace)
}

// halfDeleted has a workspace out of reach, without a row.
func halfDeleted(t *testing.T, r *running, w api.Workspace) string {
	t.Helper()
	moved := filepath.Join(filepath.Dir(w.Root), ".deleting-"+w.ID)
	move(t, w.Root, moved)
	if err := r.store.DeleteWorkspace(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	r.stop()
	return moved
}

var leftoverFaults = map[string]leftoverFault{
	"prune": {
		[]string{"prune/judged", "delete/moved", "delete/trashed", "delete/forgotten", "prune/removed"},
		func(t *testing.T, p *place, r *running, w api.Workspace) (string, any) {
			halfDeleted(t, r, w)
			return "/prune", nil
		},
		func(t *testing.T, p *place, r *running, w api.Workspace) {
			if entries, err := os.ReadDir(p.dirs.Workspaces()); err != nil || len(entries) != 1 {
				t.Errorf("left: %v, %v", entries, err)
			}
			// Its branch may be left, and goes once it has been left for a while.
			log := filepath.Join(p.repository, ".git/logs/refs/heads/middleman/w")
			if text, err := os.ReadFile(log); err == nil {
				old := regexp.MustCompile(`> \d+ `).ReplaceAllString(string(text), "> 1500000000 ")
				write(t, log, old)
				r.expect("", "gone branch w")
			}
		},
	},
	"import": {
		[]string{"import/placed", "import/row"},
		func(t *testing.T, p *place, r *running, w api.Workspace) (string, any) {
			write(t, filepath.Join(w.Root, "precious"), "work")
			return "/import", api.Import{Paths: []string{halfDeleted(t, r, w)}}
		},
		func(t *testing.T, p *place, r *running, w api.Workspace) {
			r.until("the workspace is found again", func() bool { return r.call("GET", "/workspaces/"+w.ID, nil).status == 200 })
			if text, err := os.ReadFile(filepath.Join(w.Root, "precious")); err != nil || string(text) != "work" {
				t.Errorf("%q, %v", text, err)
			}
			get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1", nil)
			r.expect("?snapshots=1ns", "gone deleted w")
		},
	},
	"repair": {
		[]string{"repair/git", "repair/row"},
		func(t *testing.T, p *place, r *running, w api.Workspace) (string, any) {
			r.stop()
			move(t, p.repository, p.repository+".moved")
			p.repository += ".moved"
			return "/repair", api.Repair{Repository: p.repository}
		},
		func(t *testing.T, p *place, r *running, w api.Workspace) {
			if now := get[api.Workspace](r, "GET", "/workspaces/"+w.ID, nil); now.Problem != "" || now.Repository != p.repository {
				t.Errorf("repaired: %+v", now)
			}
			get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil)
		},
	},
}

// Wherever a server is killed that prunes, imports or repairs, the next one
// does it to the end, and nothing else of repository and workspaces changes.
func TestFaultLeftoversKilled(t *testing.T) {
	for name, tc := range leftoverFaults {
		for _, at := range tc.places {
			t.Run(name+" at "+at, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				r := p.serve(t)
				live := r.workspace("live", nil)
				write(t, filepath.Join(live.Root, "precious"), "work")
				before := fileHashes(t, p.repository)
				w := r.workspace("w", nil)
				path, body := tc.arrange(t, p, r, w)

				p.killAsked(t, at, path, body)
				r = p.serve(t)
				if a := r.call("POST", path, body); a.status != 200 && name != "import" {
					t.Errorf("once more: %d %s", a.status, a.body) // what was imported is not where it was
				}
				tc.ends(t, p, r, w)
				r.expect("")
				if now := get[api.Workspace](r, "GET", "/workspaces/"+live.ID, nil); now.Problem != "" {
					t.Errorf("the other: %+v", now)
				}
				if after := fileHashes(t, p.repository); after != before {
					t.Errorf("repository:\n%s\nbefore:\n%s", after, before)
				}
				if text, err := os.ReadFile(filepath.Join(live.Root, "precious")); err != nil || string(text) != "work" {
					t.Errorf("%q, %v", text, err)
				}
				git(t, live.Root, "rev-parse", "--verify", "HEAD")
			})
		}
	}
}

// fileHashes is all of a repository but what git stores by its content.
func fileHashes(t *testing.T, repo string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(repo, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() != "objects" {
			return err
		}
		if entry.IsDir() {
			return filepath.SkipDir
		}
		content, err := os.ReadFile(path)
		below, _ := filepath.Rel(repo, path)
		fmt.Fprintf(&b, "%s %x\n", below, sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each place that the sources of prune, import and repair name is visited.
func TestFaultLeftoverPlaces(t *testing.T) {
	visited := map[string]bool{}
	for _, tc := range leftoverFaults {
		for _, at := range tc.places {
			visited[at] = true
		}
	}
	named := map[string]bool{}
	for _, dir := range []string{"../app", "../../workspace/leftover"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range regexp.MustCompile(`fault\.Here\("((prune|import|repair)/[^"]+)"\)`).FindAllStringSubmatch(string(source), -1) {
				named[found[1]] = true
				if !visited[found[1]] {
					t.Errorf("%s: %s is not visited", file, found[1])
				}
			}
		}
	}
	const least = 6 // of prune, import and repair together
	if len(named) < least {
		t.Errorf("the sources name %d places, want %d or more", len(named), least)
	}
}
