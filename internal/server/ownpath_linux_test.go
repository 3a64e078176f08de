package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/dirid"
	"middleman/internal/ownpath"
	"middleman/internal/sandbox"
	"middleman/internal/server"
	"middleman/workspace"
)

// eachMethod runs a test once with each method that this machine has.
func eachMethod(t *testing.T, test func(t *testing.T, support func() sandbox.Support)) {
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

// inPlace makes an in-place workspace of a directory.
func (r *running) inPlace(name, dir string) api.Workspace {
	r.t.Helper()
	made := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: name, Directory: dir, Mode: workspace.ModeInPlace})
	return get[api.Workspace](r, "GET", "/workspaces/"+made.Workspace.ID+"?wait=60s", nil)
}

// The server's PATH begins with directories of a project, as after the activation of a
// virtual environment there. What a sandboxed program plants in them is never run by the
// server or its git, also not by the next server, when the workspace is deleted.
func TestPlantedInPath(t *testing.T) {
	eachMethod(t, func(t *testing.T, support func() sandbox.Support) {
		p := newPlace(t)
		project, ran := filepath.Join(filepath.Dir(p.repository), "project"), filepath.Join(filepath.Dir(p.repository), "ran")
		bin, links := filepath.Join(project, ".venv", "bin"), filepath.Join(filepath.Dir(p.repository), "links")
		for _, dir := range []string{bin, links} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(filepath.Join(project, "git"), filepath.Join(links, "git")); err != nil {
			t.Fatal(err)
		}
		usual := os.Getenv("PATH")
		t.Setenv("PATH", bin+":"+links+":.::"+usual)
		r := p.serve(t, func(o *server.Options) { o.Support = support })
		w := r.workspace("before", nil) // git runs by this PATH
		plant := fmt.Sprintf(`for file in .venv/bin/git .venv/bin/bwrap .venv/bin/tmux .venv/bin/ssh .venv/bin/git-lfs git; do
printf '#!/bin/sh\necho $0 >>%s\nPATH=%s exec "${0##*/}" "$@"\n' >$file; chmod 755 $file; done; echo x >planted; exec cat`, ran, usual)
		here := r.inPlace("here", project)
		s := get[api.Session](r, "POST", "/workspaces/"+here.ID+"/sessions", api.NewSession{Name: "agent", Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", plant}})
		r.until("it has planted", func() bool { _, err := os.Stat(filepath.Join(project, "planted")); return err == nil })
		if got := os.Getenv("PATH"); got != usual {
			t.Errorf("PATH=%s", got)
		}
		now := strings.Join(get[api.Server](r, "GET", "/server", nil).LeftOut, "\n")
		for _, want := range []string{fmt.Sprintf("%q: the sandbox of session", bin), fmt.Sprintf("%q: git there is a link to where the sandbox of session", links), `".": it is not an absolute path`} {
			if !strings.Contains(now, want) {
				t.Errorf("the server says\n%s\nwant %s", now, want)
			}
		}
		look := func(r *running, name string) {
			r.workspace(name, nil)
			write(t, filepath.Join(w.Root, name), "x\n")
			get[api.Workspace](r, "GET", "/workspaces/"+w.ID+"?fresh=true", nil)
			get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Command: []string{"true"}})
			if text, err := os.ReadFile(ran); err == nil {
				t.Fatalf("outside of the sandbox ran:\n%s", text)
			}
		}
		look(r, "after")
		r.call("DELETE", "/workspaces/"+here.ID+"?stop_sessions=true&discard_work=true&forget_transcripts=true", nil)
		r.stop()

		t.Setenv("PATH", bin+":"+links+":"+usual) // another shell of the user's
		r = p.serve(t, func(o *server.Options) { o.Support = support })
		look(r, "next")
		if left := fmt.Sprint(ownpath.LeftOut()); !strings.Contains(left, fmt.Sprintf("%q: the sandbox of session %s of workspace here can write there", bin, s.ID)) {
			t.Errorf("left out: %s", left)
		}
	})
}

// A directory of PATH is left out by whatever path the user gives it later, also after a
// restart of the machine, when nothing is at the path that was recorded.
func TestPlantedInMoved(t *testing.T) {
	eachMethod(t, func(t *testing.T, support func() sandbox.Support) {
		p := newPlace(t)
		home := filepath.Dir(p.repository)
		if dirid.Of(home) == "" {
			t.Skip("this file system records no birth times")
		}
		project, ran := filepath.Join(home, "project"), filepath.Join(home, "ran")
		if err := os.MkdirAll(filepath.Join(project, "bin"), 0o700); err != nil {
			t.Fatal(err)
		}
		usual := os.Getenv("PATH")
		r := p.serve(t, func(o *server.Options) { o.Support = support })
		here := r.inPlace("here", project)
		plant := fmt.Sprintf(`printf '#!/bin/sh\necho $0 >>%s\nPATH=%s exec git "$@"\n' >bin/git; chmod 755 bin/git; echo x >planted; exec cat`, ran, usual)
		s := get[api.Session](r, "POST", "/workspaces/"+here.ID+"/sessions", api.NewSession{Name: "agent", Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", plant}})
		r.until("it has planted", func() bool { _, err := os.Stat(filepath.Join(project, "planted")); return err == nil })
		moved := filepath.Join(home, "moved")
		if err := os.Rename(project, moved); err != nil {
			t.Fatal(err)
		}
		bin := filepath.Join(moved, "bin")
		for _, boot := range []string{"", "another"} {
			r.stop()
			t.Setenv("PATH", bin+":"+usual)
			r = p.serve(t, func(o *server.Options) { o.Support, o.Boot = support, boot })
			r.workspace("next"+boot, nil)
			if text, err := os.ReadFile(ran); err == nil {
				t.Fatalf("outside of the sandbox ran:\n%s", text)
			}
			if left := fmt.Sprint(ownpath.LeftOut()); !strings.Contains(left, fmt.Sprintf("%q: the sandbox of session here/%s can write there", bin, s.Name)) {
				t.Errorf("left out: %s", left)
			}
		}
	})
}

// A session whose program could replace the executable that starts the sandboxes, or the
// git of the server, is refused.
func TestProgramsInTheWorkspace(t *testing.T) {
	eachMethod(t, func(t *testing.T, support func() sandbox.Support) {
		p := newPlace(t)
		project := filepath.Join(filepath.Dir(p.repository), "project")
		if err := os.MkdirAll(filepath.Join(project, "bin"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"middleman": "", "git": "#!/bin/sh\nPATH=" + os.Getenv("PATH") + " exec git \"$@\"\n"} {
			if err := os.WriteFile(filepath.Join(project, "bin", name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		in := api.NewSession{Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", "mv bin old"}}
		own := filepath.Join(project, "bin", "middleman")
		r := p.serve(t, func(o *server.Options) { o.Support, o.Executable = support, own })
		here := r.inPlace("here", project)
		a := r.call("POST", "/workspaces/"+here.ID+"/sessions", in)
		if a.status != 422 || !strings.Contains(string(a.body), "middleman's own executable is "+own) {
			t.Errorf("%d %s", a.status, a.body)
		}
		r.stop()
		t.Setenv("PATH", filepath.Dir(own)+":"+os.Getenv("PATH"))
		r = p.serve(t, func(o *server.Options) { o.Support = support })
		a = r.call("POST", "/workspaces/"+here.ID+"/sessions", in)
		if a.status != 422 || !strings.Contains(string(a.body), "the server runs "+filepath.Join(project, "bin", "git")) {
			t.Errorf("%d %s", a.status, a.body)
		}
		if _, err := os.Stat(filepath.Join(project, "old")); err == nil {
			t.Error("it ran")
		}
	})
}
