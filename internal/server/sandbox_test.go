//go:build linux

package server_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/internal/sandbox"
	"middleman/internal/server"
	"middleman/workspace"
)

// lacking is what a system has that lacks one of the methods.
func lacking(method sandbox.Method) func() sandbox.Support {
	return func() sandbox.Support {
		s := sandbox.Probe()
		if method == sandbox.Bubblewrap {
			s.Bubblewrap, s.NoBubblewrap = "", "bubblewrap is not installed: install the package bubblewrap"
		} else {
			s.ABI, s.NoLandlock = 0, "this kernel has no Landlock"
		}
		return s
	}
}

// By both methods, on both hosts, a session writes in its workspace alone, its commit is
// on the workspace's branch outside, and a delete sees that.
func TestSandboxedSessionCommits(t *testing.T) {
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		without := map[sandbox.Method]sandbox.Method{sandbox.Bubblewrap: sandbox.Landlock, sandbox.Landlock: sandbox.Bubblewrap}[method]
		support := lacking(without)
		if chosen, err := sandbox.Choose(sandbox.Workspace, support()); chosen != method {
			t.Logf("%s cannot be used here: %v", method, err)
			continue
		}
		t.Run(string(method), func(t *testing.T) {
			eachBackend(t, func(t *testing.T, p *place) {
				git(t, p.repository, "config", "user.name", "n")
				git(t, p.repository, "config", "user.email", "n@example.org")
				r := p.serve(t, func(o *server.Options) { o.Support = support })
				w := r.workspace("box", nil)
				victim := filepath.Join(filepath.Dir(p.repository), "victim")
				write(t, victim, "whole\n")
				script := `echo x >inside; echo x >` + victim + `; cat ` + p.dirs.Database() + ` >stolen; git add inside && git commit -qm sandboxed; cat`
				s := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", script}})
				if s.Sandbox == nil || s.Sandbox.Level != sandbox.Workspace || s.Sandbox.Method != method || s.Sandbox.Digest == "" {
					t.Fatalf("%+v", s.Sandbox)
				}
				r.until("the commit is on the branch", func() bool { return strings.HasPrefix(subject(t, p.repository, w.Branch), "sandboxed") })
				if text, err := os.ReadFile(victim); err != nil || string(text) != "whole\n" {
					t.Errorf("outside: %q, %v", text, err)
				}
				if text, err := os.ReadFile(filepath.Join(w.Root, "stolen")); err != nil || len(text) > 0 {
					t.Errorf("it read the database: %d bytes, %v", len(text), err)
				}
				if a := r.call("DELETE", "/workspaces/"+w.ID+"?stop_sessions=true", nil); a.status != 409 || !strings.Contains(string(a.body), "sandboxed") {
					t.Errorf("delete: %d %s", a.status, a.body)
				}
				r.call("DELETE", "/workspaces/"+w.ID+"?stop_sessions=true&discard_work=true", nil)
				for _, dir := range []string{p.dirs.Quarantine(w.ID), p.dirs.Sandbox(s.ID)} {
					if _, err := os.Lstat(dir); err == nil {
						t.Errorf("%s is left", dir)
					}
				}
			})
		})
	}
}

// A .git that a program under Landlock has replaced is named, with a code of its own, by the
// next session.
func TestReplacedGitIsNamed(t *testing.T) {
	support := lacking(sandbox.Bubblewrap)
	if chosen, err := sandbox.Choose(sandbox.Workspace, support()); chosen != sandbox.Landlock {
		t.Skipf("Landlock cannot be used here: %v", err)
	}
	for name, script := range map[string]string{
		"a directory":    "rm .git; mkdir .git",
		"a repository":   "rm .git; unset GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE; git init -q",
		"a link":         "mv .git old; ln -s old .git",
		"another's file": "echo gitdir: /tmp >.git",
		"no path":        "echo >.git",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			r := p.serve(t, func(o *server.Options) { o.Support = support })
			w := r.workspace("box", nil)
			in := api.NewSession{Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", "git -c user.name=x -c user.email=x@x commit -q --allow-empty -m kept; " + script}}
			first := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", in)
			get[api.Session](r, "GET", "/sessions/"+first.ID+"/wait?for=exit&timeout=60s", nil)
			a := r.call("POST", "/workspaces/"+w.ID+"/sessions", in)
			text := string(a.body)
			if a.status != 422 || !strings.Contains(text, api.CodeGitReplaced) || !strings.Contains(text, w.Root+"/.git: it does not lead to the workspace's repository: move it away") {
				t.Errorf("the next session: %d %s", a.status, text)
			}
		})
	}
}

// In the user's own checkout a sandboxed program commits, and changes nothing else of the
// repository; in a directory without one it goes on with what an earlier session made.
func TestSandboxedSessionInADirectory(t *testing.T) {
	if sandbox.Probe().Bubblewrap == "" {
		t.Skip(sandbox.Probe().NoBubblewrap)
	}
	p := newPlace(t)
	git(t, p.repository, "config", "user.name", "n")
	git(t, p.repository, "config", "user.email", "n@example.org")
	r := p.serve(t)
	in := func(name string, mode workspace.Mode) api.Workspace {
		made := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: name, Directory: p.repository, Mode: mode})
		return get[api.Workspace](r, "GET", "/workspaces/"+made.Workspace.ID+"?wait=60s", nil)
	}
	start := func(w api.Workspace, script string) api.Session {
		return get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", script}})
	}
	here := in("here", workspace.ModeInPlace)
	before, err := os.ReadFile(filepath.Join(p.repository, ".git", "config"))
	if err != nil {
		t.Fatal(err)
	}
	start(here, `git config core.fsmonitor "touch ran"; mkdir -p .git/hooks; echo "touch ran" >.git/hooks/post-commit; echo x >inside; git add inside && git commit -qm sandboxed`)
	r.until("the commit is in the checkout", func() bool { return strings.HasPrefix(subject(t, p.repository, "HEAD"), "sandboxed") })
	after, err := os.ReadFile(filepath.Join(p.repository, ".git", "config"))
	if string(after) != string(before) || err != nil {
		t.Errorf("settings: %s, %v", after, err)
	}
	if _, err := os.Lstat(filepath.Join(p.repository, ".git", "hooks", "post-commit")); err == nil {
		t.Error("a hook came out")
	}
	r.until("the index follows", func() bool {
		out, err := exec.Command("git", "-C", p.repository, "status", "--porcelain", "--untracked-files=no").Output()
		return err == nil && len(out) == 0
	})

	dir := in("dir", workspace.ModeDirectory)
	as := "git -c user.name=n -c user.email=n@example.org commit -q --allow-empty -m "
	start(dir, "git init -q && "+as+"one")
	r.until("the server knows what the session made", func() bool {
		info, err := os.Stat(filepath.Join(p.dirs.Quarantine(dir.ID), "open"))
		return err == nil && info.Size() > 0
	})
	start(dir, as+"two")
	r.until("the next session commits", func() bool { return strings.HasPrefix(subject(t, dir.Root, "HEAD"), "two") })
	r.call("DELETE", "/workspaces/"+dir.ID+"?stop_sessions=true&discard_work=true", nil)
	if _, err := os.Lstat(p.dirs.Quarantine(dir.ID)); err == nil {
		t.Error("something of the sandbox is left")
	}
}

// A checkout whose git directory is elsewhere is sandboxed as any; behind a link it is
// refused when the session is asked for, and what to do is said.
func TestSandboxedSessionWithGitElsewhere(t *testing.T) {
	if sandbox.Probe().Bubblewrap == "" {
		t.Skip(sandbox.Probe().NoBubblewrap)
	}
	for _, link := range []bool{false, true} {
		p := newPlace(t)
		git(t, p.repository, "config", "user.name", "n")
		git(t, p.repository, "config", "user.email", "n@example.org")
		dot, elsewhere := filepath.Join(p.repository, ".git"), filepath.Join(t.TempDir(), "store")
		err := os.Rename(dot, elsewhere)
		if link {
			err = errors.Join(err, os.Symlink(elsewhere, dot))
		} else {
			err = errors.Join(err, os.WriteFile(dot, []byte("gitdir: "+elsewhere+"\n"), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		r := p.serve(t)
		made := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: "here", Directory: p.repository, Mode: workspace.ModeInPlace})
		here := get[api.Workspace](r, "GET", "/workspaces/"+made.Workspace.ID+"?wait=60s", nil)
		a := r.call("POST", "/workspaces/"+here.ID+"/sessions", api.NewSession{Sandbox: sandbox.Workspace, Command: []string{"sh", "-c",
			`echo x >>.git; echo "gitdir: /tmp" >new; mv -f new .git; mkdir -p "$(git rev-parse --git-common-dir)/hooks"; echo x >"$(git rev-parse --git-common-dir)/hooks/post-commit"
			echo x >>"` + elsewhere + `/hooks/post-commit"; echo x >inside; git add inside && git commit -qm sandboxed`}})
		if link {
			if a.status/100 != 4 || !strings.Contains(string(a.body), "is a symbolic link") || !strings.Contains(string(a.body), "gitdir: "+elsewhere) {
				t.Errorf("behind a link: %d %s", a.status, a.body)
			}
			continue
		}
		if a.status/100 != 2 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		r.until("the commit is in the checkout", func() bool { return strings.HasPrefix(subject(t, p.repository, "HEAD"), "sandboxed") })
		if _, err := os.Lstat(filepath.Join(elsewhere, "hooks", "post-commit")); err == nil {
			t.Error("a hook came out")
		}
		if text, err := os.ReadFile(dot); err != nil || string(text) != "gitdir: "+elsewhere+"\n" {
			t.Errorf(".git is %q, %v", text, err)
		}
	}
}

// subject returns the subject of the last commit of a branch.
func subject(t *testing.T, repository, branch string) string {
	t.Helper()
	out, err := exec.Command("git", "-C", repository, "log", "-1", "--format=%s", branch, "--").CombinedOutput()
	if err != nil {
		t.Logf("%s", out)
	}
	return string(out)
}

// What the sandbox holds that cannot be read refuses a delete, as unknown work does, and
// outlives a forced one.
func TestDamagedSandboxIsNotLost(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	if _, err := sandbox.Choose(sandbox.Workspace, sandbox.Probe()); err != nil {
		t.Skip(err)
	}
	w := r.workspace("box", nil)
	s := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Sandbox: sandbox.Workspace, Command: []string{"cat"}})
	head := filepath.Join(p.dirs.Quarantine(w.ID), "git", "packed-refs")
	if err := os.WriteFile(head, []byte("# pack-refs with: peeled fully-peeled sorted\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := r.call("DELETE", "/workspaces/"+w.ID+"?stop_sessions=true", nil)
	if a.status != 409 || a.problem(t).Code != api.CodeUnknownLoss {
		t.Errorf("delete: %d %s", a.status, a.body)
	}
	if v := get[api.Workspace](r, "GET", "/workspaces/"+w.ID, nil); v.Brought == nil || v.Brought.Problem == "" {
		t.Errorf("the workspace shows no problem: %+v", v.Brought)
	}
	out := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?stop_sessions=true&discard_work=true", nil)
	if !strings.Contains(strings.Join(out.Warnings, "\n"), "what its sandbox held is kept") {
		t.Errorf("warnings: %q", out.Warnings)
	}
	if _, err := os.Stat(head); err != nil {
		t.Errorf("session %s: %v", s.ID, err)
	}
}

// Which level a session gets, and what is said where it cannot be had.
func TestSandboxLevels(t *testing.T) {
	p := newPlace(t)
	none := func() sandbox.Support {
		return sandbox.Support{NoBubblewrap: "bubblewrap is not installed: install the package bubblewrap", NoLandlock: "this kernel has no Landlock"}
	}
	r := p.serve(t, func(o *server.Options) {
		o.Support = none
		o.Sandbox = config.Sandbox{Level: "auto"}
		o.Profiles = map[string]agent.Definition{
			"claude": {Command: []string{"cat"}}, "plain": {Command: []string{"cat"}}, "loose": {Command: []string{"cat"}, Sandbox: "none", Like: "claude"}, "tight": {Command: []string{"cat"}, Sandbox: "strict"},
		}
	})
	w := r.workspace("w", nil)
	for _, tt := range []struct {
		name string
		in   api.NewSession
		want string // of the refusal, "" for a session without a sandbox
	}{
		{"a shell", api.NewSession{}, ""},
		{"a command", api.NewSession{Command: []string{"cat"}}, ""},
		{"an agent", api.NewSession{Profile: "claude"}, "--sandbox none starts the session without a sandbox"},
		{"an agent that its user lets go", api.NewSession{Profile: "claude", Sandbox: sandbox.None}, ""},
		{"another program of a profile", api.NewSession{Profile: "plain"}, ""},
		{"a profile without", api.NewSession{Profile: "loose"}, ""},
		{"a profile with more", api.NewSession{Profile: "tight"}, "sandbox strict needs bubblewrap: bubblewrap is not installed"},
		{"asked for", api.NewSession{Command: []string{"cat"}, Sandbox: sandbox.Workspace}, "sandbox workspace needs bubblewrap or Landlock"},
		{"unknown", api.NewSession{Command: []string{"cat"}, Sandbox: "tight"}, "none, workspace, strict"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := r.call("POST", "/workspaces/"+w.ID+"/sessions", tt.in)
			if tt.want == "" {
				if a.status != 201 || strings.Contains(string(a.body), `"sandbox"`) {
					t.Errorf("%d %s", a.status, a.body)
				}
				return
			}
			if a.status != 422 || !strings.Contains(string(a.body), tt.want) {
				t.Errorf("%d %s, want %q", a.status, a.body, tt.want)
			}
			if tt.in.Sandbox != "" && strings.Contains(string(a.body), "is the default here") {
				t.Errorf("what was asked for is called a default: %s", a.body)
			}
		})
	}
}

// Where there are no Unix sockets inside, a program reaches the server all the same, and
// no other socket.
func TestWithoutUnixSockets(t *testing.T) {
	support := lacking(sandbox.Bubblewrap)
	if chosen, err := sandbox.Choose(sandbox.Workspace, support()); chosen != sandbox.Landlock {
		t.Skipf("Landlock cannot be used here: %v", err)
	}
	eachBackend(t, func(t *testing.T, p *place) {
		r := p.serve(t, func(o *server.Options) { o.Support = support })
		w := r.workspace("box", nil)
		// Beside the workspace, where a program of the user may have one.
		l, err := net.Listen("unix", filepath.Join(filepath.Dir(p.repository), "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		s := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions",
			api.NewSession{Sandbox: sandbox.Workspace, Command: []string{self, askOwn, l.Addr().String()}})
		var said string
		r.until("the program has asked", func() bool {
			said = string(r.call("GET", "/sessions/"+s.ID+"/capture", nil).body)
			return strings.Contains(said, "socket: ")
		})
		if !strings.Contains(said, "spawn: <nil>.") || strings.Contains(said, "socket: <nil>.") {
			t.Errorf("inside:\n%s", said)
		}
	})
}

// What a network list denies is an event, once.
func TestDenialsAreEvents(t *testing.T) {
	if support := sandbox.Probe(); support.Bubblewrap == "" {
		t.Skip(support.NoBubblewrap)
	}
	p := newPlace(t)
	r := p.serve(t)
	live := r.events(t, "", "")
	w := r.workspace("box", nil)
	s := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{
		Sandbox: sandbox.Strict, Network: []string{"registry.example"}, Command: []string{"sh", "-c", "getent hosts first.test; read x; getent hosts second.test; read x"},
	})
	denied := func(target string) {
		t.Helper()
		e := live.until(func(e api.Event) bool { return e.Type == "denied" && e.ID == s.ID })
		if len(e.Denied) != 1 || e.Denied[0].Target != target || e.Denied[0].Via != "dns" || e.Denied[0].Rule == "" {
			t.Errorf("denied: %+v, want %s", e.Denied, target)
		}
	}
	denied("first.test")
	r.call("POST", "/sessions/"+s.ID+"/input", []byte("\r"))
	denied("second.test")
}

// The repository's commands run what a sandboxed session may have written, so they run in
// a sandbox too.
func TestCommandsAfterASandbox(t *testing.T) {
	for _, support := range []func() sandbox.Support{lacking(sandbox.Landlock), lacking(sandbox.Bubblewrap)} {
		method, err := sandbox.Choose(sandbox.Workspace, support())
		if err != nil {
			t.Log(err)
			continue
		}
		t.Run(string(method), func(t *testing.T) {
			p := newPlace(t)
			r := p.serve(t, func(o *server.Options) { o.Support = support })
			victim := filepath.Join(filepath.Dir(p.repository), "victim")
			write(t, victim, "whole\n")
			write(t, filepath.Join(p.repository, "down"), "echo down >torn\n")
			hash := p.configure(t, "teardown = [\"sh ./down; test -e torn\"]\n")
			r.call("POST", "/trust", api.ApproveIn{Directory: p.repository, Hash: hash})
			w := r.makes("w")
			script := "echo 'echo escaped >" + victim + "; cp torn torn.2; echo planted >torn' >down; echo wrote; read x"
			get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Sandbox: sandbox.Workspace, Command: []string{"sh", "-c", script}})
			r.until("the script was replaced", func() bool {
				raw, err := os.ReadFile(filepath.Join(w.Root, "down"))
				return err == nil && strings.Contains(string(raw), "planted")
			})
			a := r.call("DELETE", "/workspaces/"+w.ID+"?discard_work=1&stop_sessions=1", nil)
			if a.status != 200 {
				t.Errorf("delete: %d %s", a.status, a.body)
			}
			if text, err := os.ReadFile(victim); err != nil || string(text) != "whole\n" {
				t.Errorf("outside: %q, %v", text, err)
			}
			if left, err := os.ReadDir(filepath.Join(p.dirs.Data, "sandbox")); err != nil || len(left) > 0 {
				t.Errorf("left of the sandbox: %v, %v", left, err)
			}
		})
	}
}
