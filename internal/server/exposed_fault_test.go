//go:build faults && linux

package server_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"middleman/internal/api"
	"middleman/internal/fault"
	"middleman/internal/sandbox"
	"middleman/internal/server"
)

// swapper is a sandboxed program that puts a link to a victim in the place of each
// directory that it is told.
type swapper struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	victim  string
	session api.Session
}

func startSwapper(t *testing.T, r *running, w api.Workspace) *swapper {
	t.Helper()
	s := &swapper{t: t, victim: t.TempDir()}
	open := func(name string) *os.File {
		path := filepath.Join(w.Root, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close(); os.Remove(path) })
		return f
	}
	s.in, s.out = open("in"), bufio.NewReader(open("out"))
	script := `while read -r dir; do if mv "$dir" "$dir.old" && ln -s ` + s.victim + ` "$dir"; then echo swapped; else echo held; fi; done <in >out`
	s.session = get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", script}})
	return s
}

// swap tells it to replace the directories that match a pattern, the first in which it can
// replace any, and returns these.
func (s *swapper) swap(patterns ...string) (swapped []string) {
	s.t.Helper()
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, dir := range found {
			if _, err := s.in.WriteString(dir + "\n"); err != nil {
				s.t.Fatal(err)
			}
			answer, err := s.out.ReadString('\n')
			if err != nil {
				s.t.Fatal(err)
			}
			if answer == "swapped\n" {
				swapped = append(swapped, dir)
			}
		}
		if len(swapped) > 0 {
			break
		}
	}
	return swapped
}

// during calls do, stops it at a place, and swaps what is there by then.
func (s *swapper) during(t *testing.T, plan *fault.Plan, place string, do func(), patterns ...string) {
	t.Helper()
	s.t = t
	if err := plan.Set(place, fault.Hold, 0, 1); err != nil {
		s.t.Fatal(err)
	}
	done, held := make(chan struct{}), make(chan error, 1)
	go func() { defer close(done); do() }()
	go func() { _, err := plan.Await(place); held <- err }()
	select {
	case <-done:
		s.t.Fatalf("%s was not reached", place)
	case err := <-held:
		if err != nil {
			s.t.Fatal(err)
		}
	}
	t.Logf("at %s swapped %q", place, s.swap(patterns...))
	if err := plan.Release(place); err != nil {
		s.t.Fatal(err)
	}
	<-done
	if err := plan.Heal(place); err != nil {
		s.t.Fatal(err)
	}
}

// unharmed fails if git or the server followed a link of the program, or if the workspace
// is not where the answer says.
func (s *swapper) unharmed(w api.Workspace) {
	s.t.Helper()
	if written, err := os.ReadDir(s.victim); err != nil || len(written) > 0 {
		s.t.Errorf("written outside: %v, %v", written, err)
	}
	info, err := os.Lstat(w.Root)
	if err != nil || !info.IsDir() {
		s.t.Errorf("workspace at %s: %v, %v", w.Root, info, err)
	}
	if text, err := os.ReadFile(filepath.Join(w.Root, "file")); err != nil || string(text) != "content\n" {
		s.t.Errorf("file of the worker: %q, %v", text, err)
	}
}

// methods runs a test with each method that can be used here.
func methods(t *testing.T, test func(t *testing.T, support func() sandbox.Support)) {
	for method, without := range map[sandbox.Method]sandbox.Method{sandbox.Bubblewrap: sandbox.Landlock, sandbox.Landlock: sandbox.Bubblewrap} {
		t.Run(string(method), func(t *testing.T) {
			support := lacking(without)
			if chosen, err := sandbox.Choose(sandbox.Workspace, support()); chosen != method {
				t.Skipf("%s cannot be used here: %v", method, err)
			}
			test(t, support)
		})
	}
}

// At each step of the making of its worker, a sandboxed program replaces each directory
// that it can: git writes nothing outside, and the worker is whole.
func TestFaultSandboxSwapsWorker(t *testing.T) {
	methods(t, func(t *testing.T, support func() sandbox.Support) {
		plan := fault.NewPlan(t.TempDir())
		t.Setenv(plan.Variable())
		p := newPlace(t)
		r := p.serve(t, func(o *server.Options) { o.Support = support })
		parent := r.workspace("parent", nil)
		s := startSwapper(t, r, parent)
		for _, place := range []string{
			"spawn/row", "create/branch", "create/linked", "create/directory", "create/added", "create/begun", "create/placed",
			"create/checkout", "create/checked-out", "create/filled", "spawn/done",
		} {
			t.Run(place, func(t *testing.T) {
				name := "w" + strings.NewReplacer("/", "-").Replace(place)
				var made api.Spawned
				s.during(t, plan, place, func() {
					made = get[api.Spawned](r, "POST", "/sessions/"+s.session.ID+"/workers", api.NewWorker{Name: name, Session: api.NewSession{Command: []string{"cat"}}})
				}, filepath.Join(parent.Root, ".middleman/work/*"), filepath.Join(parent.Root, ".middleman"), filepath.Join(p.dirs.Workspaces(), "*/w*"), filepath.Join(p.dirs.Workspaces(), "*"))
				s.unharmed(made.Workspace)
			})
		}
	})
}

// The same while a worker is restored that was made in the scope of its parent, before
// sandboxed sessions began there.
func TestFaultSandboxSwapsRestored(t *testing.T) {
	methods(t, func(t *testing.T, support func() sandbox.Support) {
		plan := fault.NewPlan(t.TempDir())
		t.Setenv(plan.Variable())
		p := newPlace(t)
		r := p.serve(t, func(o *server.Options) { o.Support = support })
		parent := r.workspace("parent", &api.NewSession{Command: []string{"cat"}})
		places := []string{"restore/files", "restore/branch", "restore/gathered", "restore/entry", "restore/placed", "restore/let-go", "restore/directory", "restore/added", "create/checkout", "create/checked-out"}
		ids := map[string]string{}
		for i, place := range places {
			worker := r.spawn(parent.Sessions[0], api.NewWorker{Name: "w" + strings.ReplaceAll(place, "/", "-")}, "cat").Workspace
			if filepath.Dir(worker.Root) != filepath.Join(parent.Root, ".middleman/work") {
				t.Errorf("worker at %s", worker.Root)
			}
			if i < 6 { // else it is made again from its commit
				write(t, filepath.Join(worker.Root, "new"), "work\n")
			}
			r.call("DELETE", "/workspaces/"+worker.ID+"?stop_sessions=true&discard_work=true", nil)
			ids[place] = worker.ID
		}
		s := startSwapper(t, r, parent)
		for _, place := range places {
			t.Run(place, func(t *testing.T) {
				id := ids[place]
				var back api.Restored
				s.during(t, plan, place, func() { back = get[api.Restored](r, "POST", "/workspaces/"+id+"/restore", nil) },
					filepath.Join(parent.Root, ".middleman/work/*"), filepath.Join(parent.Root, ".middleman/work/.r*"), filepath.Join(parent.Root, ".middleman"),
					filepath.Join(p.dirs.Workspaces(), id), filepath.Join(p.dirs.Workspaces(), ".r*"))
				s.unharmed(back.Workspace)
				if len(back.Warnings) == 0 || !strings.Contains(strings.Join(back.Warnings, "\n"), "programs in the sandbox of workspace parent can replace") {
					t.Errorf("warnings: %q", back.Warnings)
				}
			})
		}
	})
}
