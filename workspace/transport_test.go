package workspace_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/workspace"
)

// tracer is a directory of programs that leave a trace and fail.
type tracer struct{ dir string }

func (r tracer) program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(r.dir, name)
	write(t, path, fmt.Sprintf("#!/bin/sh\necho %s >> '%s/trace'\nexit 1\n", name, r.dir))
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// ran is what ran since the last call.
func (r tracer) ran(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(r.dir + "/trace")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	os.Remove(r.dir + "/trace")
	return string(text)
}

// newTracer has an ssh and a git-remote-canary in PATH, so that no test reaches
// for a network.
func newTracer(t *testing.T) tracer {
	t.Helper()
	r := tracer{t.TempDir()}
	r.program(t, "ssh")
	r.program(t, "git-remote-canary")
	t.Setenv("PATH", r.dir+":"+os.Getenv("PATH"))
	return r
}

// locked is a server that wants a password.
func locked(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A program that the repository's own configuration names for reaching a remote
// runs with consent alone, whether a fetch was asked for or a partial clone
// misses files.
func TestTransportOfTheRepository(t *testing.T) {
	forge, _, _ := newForge(t)
	runGit(t, forge, "config", "uploadpack.allowFilter", "true")
	runGit(t, forge, "config", "uploadpack.allowAnySHA1InWant", "true")
	traces := newTracer(t)
	canary := traces.program(t, "evil")
	web := locked(t)
	set := func(pairs ...string) func(t *testing.T, repo string) {
		return func(t *testing.T, repo string) {
			for i := 0; i < len(pairs); i += 2 {
				runGit(t, repo, "config", pairs[i], pairs[i+1])
			}
		}
	}
	for _, tc := range []struct {
		name, url, key string
		plant          func(t *testing.T, repo string)
		instead        string // runs without consent
		fetchOnly      bool
		never          bool // runs with consent neither
	}{
		{name: "ssh command", url: "ssh://host.invalid/x", key: "core.sshcommand", plant: set("core.sshCommand", canary), instead: "ssh\n"},
		{name: "uploadpack", url: "file://" + forge, key: "remote.origin.uploadpack", plant: set("remote.origin.uploadpack", canary)},
		{name: "git proxy", url: "git://127.0.0.1:1/x", key: "core.gitproxy", plant: set("core.gitProxy", canary)},
		{name: "git proxy for a host", url: "git://127.0.0.1:1/x", key: "core.gitproxy", plant: set("core.gitProxy", canary+" for 127.0.0.1:1")},
		{name: "foreign system", url: "file://" + forge, key: "remote.origin.vcs", plant: set("remote.origin.vcs", "canary")},
		{name: "alias for a helper", url: "nothing::x", key: "alias.remote-nothing", plant: set("alias.remote-nothing", "!"+canary)},
		{name: "credential helper", url: web + "/x", key: "credential.helper", plant: set("credential.helper", canary)},
		{name: "credential helper of a host", url: web + "/x", key: "credential." + web + ".helper", plant: set("credential."+web+".helper", canary)},
		{name: "ask for a password", url: web + "/x", key: "core.askpass", plant: set("core.askPass", canary), never: true},
		{name: "alternate refs", url: "file://" + forge, key: "core.alternaterefscommand", fetchOnly: true, plant: func(t *testing.T, repo string) {
			set("core.alternateRefsCommand", canary)(t, repo)
			write(t, repo+"/.git/objects/info/alternates", newRepo(t)+"/.git/objects\n")
		}},
		{name: "included", url: "ssh://host.invalid/x", key: "core.sshcommand", instead: "ssh\n", plant: func(t *testing.T, repo string) {
			write(t, repo+"/.git/more", "[core]\n\tsshCommand = "+canary+"\n")
			set("include.path", "more")(t, repo)
		}},
		{name: "included on a condition", url: "ssh://host.invalid/x", key: "core.sshcommand", instead: "ssh\n", plant: func(t *testing.T, repo string) {
			write(t, repo+"/.git/more", "[core]\n\tsshCommand = "+canary+"\n")
			set("includeIf.gitdir:"+filepath.Dir(repo)+"/.path", "more")(t, repo)
		}},
		{name: "of the worktree", url: "ssh://host.invalid/x", key: "core.sshcommand", instead: "ssh\n", fetchOnly: true, plant: func(t *testing.T, repo string) {
			set("extensions.worktreeConfig", "true")(t, repo)
			runGit(t, repo, "config", "--worktree", "core.sshCommand", canary)
		}},
	} {
		for _, kind := range []string{"fetch", "partial", "fetch into partial"} {
			long := kind == "fetch into partial" && tc.name != "uploadpack" && os.Getenv("MIDDLEMAN_LONG") == ""
			if kind != "fetch" && tc.fetchOnly || long {
				continue
			}
			t.Run(tc.name+"/"+kind, func(t *testing.T) {
				repo := filepath.Join(t.TempDir(), "repo")
				careless := []string{"fetch", "-q", "origin", "refs/pull/7/head"}
				r := request(repo, "w1")
				r.Base = "pr:7"
				args := []string{"clone", "-q", "--no-checkout", "file://" + forge, repo}
				if kind != "fetch" {
					args = append(args, "--filter=blob:none")
				}
				if kind == "partial" {
					careless, r.Base = []string{"read-tree", "-m", "-u", "HEAD"}, ""
				}
				runGit(t, "/", args...)
				runGit(t, repo, "config", "remote.origin.url", tc.url)
				tc.plant(t, repo)
				m, _ := newManager(t)
				try := func(r workspace.CreateRequest) string {
					said := ""
					_, err := m.Create(context.Background(), r, func(s workspace.Stage) { said += s.Detail + "\n" })
					return fmt.Sprint(said, err)
				}
				said := try(r)
				if got := traces.ran(t); strings.ReplaceAll(got, tc.instead, "") != "" || tc.instead != "" && got == "" {
					t.Errorf("without consent ran %q", got)
				}
				if !strings.Contains(said, "names to reach a remote did not run") || !strings.Contains(said, tc.key) {
					t.Errorf("said %s", said)
				}
				r.ID, r.Filters = "w2", true
				said = try(r)
				if got := traces.ran(t); (got == "") != tc.never || strings.Contains(got, "ssh") || strings.Contains(said, "not used") {
					t.Errorf("with consent ran %q, said %s", got, said)
				}
				if out, _ := tryGit(repo, careless...); traces.ran(t) == "" {
					t.Errorf("the canary never runs: %s", out)
				}
			})
		}
	}
}

// The user's own programs reach a remote, whatever the repository names.
func TestTransportOfTheUser(t *testing.T) {
	forge, pull, _ := newForge(t)
	traces := newTracer(t)
	evil, mine := traces.program(t, "evil"), traces.program(t, "mine")
	settings, err := os.ReadFile(os.Getenv("GIT_CONFIG_GLOBAL"))
	if err != nil {
		t.Fatal(err)
	}
	web := locked(t)
	for _, tc := range []struct{ name, url, key, own, users string }{
		{"ssh command", "ssh://host.invalid/x", "core.sshCommand", evil, mine},
		{"credential helper", web, "credential.helper", evil, mine},
		{"credential helper of a host", web, "credential." + web + ".helper", evil, mine},
		{"git proxy", "git://127.0.0.1:1/x", "core.gitProxy", evil, mine},
		{"uploadpack", "file://" + forge, "remote.origin.uploadpack", evil, mine},
		{"foreign system", "file://" + forge, "remote.origin.vcs", "nothing", "canary"},
		{"alternative", "file://" + forge, "core.sshCommand", evil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			global := filepath.Join(t.TempDir(), "gitconfig")
			write(t, global, string(settings))
			t.Setenv("GIT_CONFIG_GLOBAL", global)
			if tc.users != "" {
				runGit(t, "/", "config", "--global", tc.key, tc.users)
			}
			repo := newRepo(t)
			runGit(t, repo, "remote", "add", "origin", tc.url)
			runGit(t, repo, "config", tc.key, tc.own)
			m, _ := newManager(t)
			r := request(repo, "w1")
			r.Base = "pr:7"
			w, err := m.Create(context.Background(), r, nil)
			got := traces.ran(t)
			if tc.users == "" {
				if err != nil || w.BaseCommit != pull || got != "" {
					t.Errorf("ran %q, %v", got, err)
				}
				return
			}
			if strings.Contains(got, "evil") || got == "" {
				t.Errorf("ran %q, %v", got, err)
			}
		})
	}
}

// A delete and a restore reach no remote by what the repository names.
func TestTransportOfDeleteAndRestore(t *testing.T) {
	forge, _, _ := newForge(t)
	runGit(t, forge, "config", "uploadpack.allowFilter", "true")
	runGit(t, forge, "config", "uploadpack.allowAnySHA1InWant", "true")
	traces := newTracer(t)
	evil := traces.program(t, "evil")
	for _, filter := range []string{"blob:none", "tree:0"} {
		t.Run(filter, func(t *testing.T) {
			repo := filepath.Join(t.TempDir(), "repo")
			runGit(t, "/", "clone", "-q", "--no-checkout", "--filter="+filter, "file://"+forge, repo)
			m, _ := newManager(t)
			ctx := context.Background()
			w := create(t, m, request(repo, "w1"))
			commit(t, forge, "more", filter+"\n")
			runGit(t, repo, "fetch", "-q", "origin")
			newer := runGit(t, repo, "commit-tree", "-p", w.Branch, "-m", "Newer", "refs/remotes/origin/main^{tree}")
			runGit(t, repo, "config", "remote.origin.uploadpack", evil)
			write(t, w.Root+"/a.txt", "changed\n")
			write(t, w.Root+"/new.txt", "new\n")
			runGit(t, w.Root, "add", "a.txt")
			if _, err := m.Delete(ctx, w, true, nil); err != nil {
				t.Fatal(err)
			}
			if _, _, err := m.Restore(ctx, w, nil); err != nil {
				t.Fatal(err)
			}
			// A branch alone is left, with a file that is not here yet.
			runGit(t, w.Root, "update-ref", "refs/heads/"+w.Branch, newer)
			runGit(t, repo, "worktree", "unlock", w.Root)
			runGit(t, repo, "worktree", "remove", "--force", w.Root)
			if _, err := m.Delete(ctx, w, true, nil); err != nil {
				t.Fatal(err)
			}
			if _, _, err := m.Restore(ctx, w, nil); err == nil {
				t.Error("restored what is not here")
			}
			if got := traces.ran(t); got != "" {
				t.Errorf("ran %q", got)
			}
			if out, err := tryGit(repo, "worktree", "add", "--detach", repo+"-more", newer); traces.ran(t) == "" {
				t.Errorf("the canary never runs: %s, %v", out, err)
			}
		})
	}
}

// git-lfs reads the same settings: it gets none of the repository's either.
func TestTransportOfLFS(t *testing.T) {
	traces := newTracer(t)
	evil := traces.program(t, "evil")
	lfs := filepath.Join(traces.dir, "git-lfs")
	write(t, lfs, "#!/bin/sh\n$(git config core.sshCommand) -V\n$(git config credential.helper) get\nexit 0\n")
	if err := os.Chmod(lfs, 0o755); err != nil {
		t.Fatal(err)
	}
	repo := newRepo(t)
	commit(t, repo, ".gitattributes", "*.bin filter=lfs -text\n")
	commit(t, repo, "x.bin", "pointer\n")
	runGit(t, repo, "config", "core.sshCommand", evil)
	runGit(t, repo, "config", "credential.helper", evil)
	m, _ := newManager(t)
	_, said := details(t, m, request(repo, "w1"))
	if got := traces.ran(t); got != "ssh\n" || !strings.Contains(said["lfs"].Detail, "(core.sshcommand, credential.helper)") {
		t.Errorf("ran %q, said %+v", got, said["lfs"])
	}
	r := request(repo, "w2")
	r.Filters = true
	if _, said := details(t, m, r); traces.ran(t) != "evil\nevil\n" || said["lfs"].Detail != "" {
		t.Errorf("with consent said %+v", said["lfs"])
	}
}
