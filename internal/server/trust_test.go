//go:build linux || darwin

package server_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/repoconfig"
	"middleman/workspace"
)

// trustPaths are the routes that this page tests.
var trustPaths = []string{
	"GET /config", "GET /trust", "POST /trust", "DELETE /trust",
	"GET /workspaces/{workspace}/trust", "POST /workspaces/{workspace}/trust", "GET /workspaces/{workspace}/setup-log",
}

// configure commits .middleman.toml to the repository.
func (p *place) configure(t *testing.T, text string) (hash string) {
	t.Helper()
	write(t, filepath.Join(p.repository, repoconfig.Name), text)
	git(t, p.repository, "add", "-A")
	git(t, p.repository, "commit", "-q", "-m", "configuration")
	return repoconfig.Hash([]byte(text))
}

// makes makes a workspace and returns it when it is ready or failed.
func (r *running) makes(name string) api.Workspace {
	r.t.Helper()
	created := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: name, Directory: r.place.repository})
	return get[api.Workspace](r, "GET", "/workspaces/"+created.Workspace.ID+"?wait=60s", nil)
}

// agree agrees to what is in a workspace's checkout, and runs its setup.
func (r *running) agree(w api.Workspace, hash string) answer {
	r.t.Helper()
	return r.call("POST", "/workspaces/"+w.ID+"/trust", api.Approve{Hash: hash, Setup: true})
}

func has(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// environOf is what a session sees.
func (r *running) environOf(w api.Workspace) string {
	r.t.Helper()
	s := r.session(w, "env")
	get[api.Waited](r, "GET", "/sessions/"+s.ID+"/wait?for=exit&timeout=60s", nil)
	return string(r.call("GET", "/sessions/"+s.ID+"/output", nil).body)
}

// Nothing of a repository's configuration is used before its very content was
// agreed to.
func TestTrust(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t, portsFrom(20300, 100))
	ran := filepath.Join(p.dirs.Data, "ran")
	write(t, filepath.Join(p.repository, ".gitignore"), ".env\n")
	write(t, filepath.Join(p.repository, ".env"), "SECRET=1\n")
	text := "setup = [\"echo $GIVEN $MIDDLEMAN_WORKSPACE_NAME $MIDDLEMAN_WORKSPACE_PORTS >>'" + ran + "'\", \"pwd >setup.txt; cat .env\"]\n" +
		"copy = [\".env\"]\nports = 3\n[env]\nGIVEN = \"by the repository\"\n"
	hash := p.configure(t, text)

	one := r.makes("one")
	if one.State != workspace.StateReady || !strings.HasPrefix(stageDetail(one, "setup"), "done skipped: .middleman.toml is not trusted") {
		t.Fatalf("%s: %s", one.State, stageDetail(one, "setup"))
	}
	if has(ran) || has(filepath.Join(one.Path, ".env")) || one.Ports != 2 || strings.Contains(r.environOf(one), "GIVEN=") {
		t.Fatal("the configuration was used without consent")
	}
	shown := get[api.RepoConfig](r, "GET", "/workspaces/"+one.ID+"/trust", nil)
	if shown.Content != text || shown.Hash != hash || shown.Trusted || len(shown.Setup) != 2 || *shown.Ports != 3 {
		t.Errorf("shown: %+v", shown)
	}
	for _, wrong := range []string{"", repoconfig.Hash([]byte("another")), strings.ToUpper(hash), hash[:12]} {
		if got := r.agree(one, wrong); got.status != http.StatusConflict || got.problem(t).Code != api.CodeConfigChanged || has(ran) {
			t.Errorf("with hash %q: %d %s", wrong, got.status, got.body)
		}
	}

	// With consent, all of it.
	approved := get[api.Approved](r, "POST", "/workspaces/"+one.ID+"/trust", api.Approve{Hash: hash, Setup: true})
	if w := approved.Workspace; w == nil || w.Ports != 3 || !strings.HasPrefix(stageDetailLast(*w, "setup"), "done SECRET=1") {
		t.Errorf("%+v", approved.Workspace)
	}
	if got, err := os.ReadFile(ran); err != nil || string(got) != "by the repository one 3\n" {
		t.Errorf("ran: %q, %v", got, err)
	}
	if env := r.environOf(one); !strings.Contains(env, "GIVEN=by the repository\r\n") || strings.Contains(env, "MIDDLEMAN_SETUP") {
		t.Errorf("environment: %s", env)
	}
	if log := r.call("GET", "/workspaces/"+one.ID+"/setup-log", nil); log.status != 200 || !strings.Contains(string(log.body), `SECRET=1\n`) {
		t.Errorf("log: %d %s", log.status, log.body)
	}
	r.agree(one, hash) // is done already
	two := r.makes("two")
	if got, err := os.ReadFile(ran); err != nil || string(got) != "by the repository one 3\nby the repository two 3\n" || two.Ports != 3 {
		t.Errorf("ran: %q, %v; %d ports", got, err, two.Ports)
	}

	// Other content needs another consent, and a consent can be taken back.
	p.configure(t, text+"# changed\n")
	three := r.makes("three")
	if !strings.Contains(stageDetail(three, "setup"), "not trusted") || three.Ports != 2 {
		t.Errorf("changed content: %s", stageDetail(three, "setup"))
	}
	trusts := get[api.Trusts](r, "GET", "/trust", nil)
	if len(trusts.Trusted) != 1 || trusts.Trusted[0].Hash != hash || trusts.Trusted[0].Content != text {
		t.Errorf("%+v", trusts)
	}
	revoked := get[api.Revoked](r, "DELETE", "/trust?directory="+p.repository, nil)
	if revoked.Revoked != 1 || strings.Contains(r.environOf(one), "GIVEN=") {
		t.Errorf("after %d were taken back, they are still used", revoked.Revoked)
	}
}

// stageDetailLast is stageDetail of the last of that name.
func stageDetailLast(w api.Workspace, name string) (last string) {
	for _, stage := range w.Stages {
		if stage.Name == name {
			last = stage.State + " " + stage.Detail
		}
	}
	return last
}

// A file that is none, or cannot be meant, is not used, whoever agrees.
func TestTrustRefuses(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	elsewhere := filepath.Join(p.dirs.Data, "elsewhere.toml")
	write(t, elsewhere, "setup = [\"touch ran\"]\n")
	for name, change := range map[string]func(path string) error{
		"link":    func(path string) error { return os.Symlink(elsewhere, path) },
		"large":   func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("#", 1<<20)), 0o600) },
		"unknown": func(path string) error { return os.WriteFile(path, []byte("\nsetpu = []\n"), 0o600) },
		"above":   func(path string) error { return os.WriteFile(path, []byte("copy = [\"../../..\"]\n"), 0o600) },
	} {
		path := filepath.Join(p.repository, repoconfig.Name)
		if err := change(path); err != nil {
			t.Fatal(err)
		}
		git(t, p.repository, "add", "-A")
		git(t, p.repository, "commit", "-q", "-m", name)
		w := r.makes(name)
		if w.State != workspace.StateReady || !strings.Contains(stageDetail(w, "setup"), " is not used: ") {
			t.Errorf("%s: %s %s", name, w.State, stageDetail(w, "setup"))
		}
		shown := get[api.RepoConfig](r, "GET", "/workspaces/"+w.ID+"/trust", nil)
		got := r.agree(w, shown.Hash)
		if got.status != http.StatusUnprocessableEntity || got.problem(t).Code != api.CodeBadConfig || shown.Problem == "" || has(filepath.Join(w.Path, "ran")) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	git(t, p.repository, "add", "-A")
	git(t, p.repository, "commit", "-q", "-m", "none")
	w := r.makes("none")
	if got := r.agree(w, repoconfig.Hash(nil)); got.status != http.StatusNotFound || stageDetail(w, "setup") != "" {
		t.Errorf("without a file: %d %s", got.status, got.body)
	}
	here := r.makeIn("here", workspace.ModeInPlace)
	if got := r.agree(here, repoconfig.Hash(nil)); got.status != http.StatusConflict {
		t.Errorf("in place: %d %s", got.status, got.body)
	}
}

// A setup that fails leaves the workspace, and says why.
func TestSetupFails(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	hash := p.configure(t, "setup = [\"echo made >made; echo cannot go on; exit 3\"]\nteardown = [\"cp made ../torn-down\"]\n")
	agreed := r.call("POST", "/trust", api.ApproveIn{Directory: filepath.Join(p.repository), Hash: hash})
	if agreed.status != 200 {
		t.Fatalf("%d %s", agreed.status, agreed.body)
	}
	w := r.makes("w")
	if w.State != workspace.StateFailed || !strings.Contains(w.Error, "exit status 3; printed last: cannot go on") || !has(filepath.Join(w.Path, "made")) {
		t.Errorf("%s: %s", w.State, w.Error)
	}
	if last := stageDetailLast(w, "setup"); !strings.HasPrefix(last, "failed setup of workspace w: ") {
		t.Errorf("stage: %s", last)
	}
	// What it has begun is torn down.
	get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1", nil)
	if !has(filepath.Join(filepath.Dir(w.Root), "torn-down")) || has(w.Root) || has(p.dirs.SetupLog(w.ID)) {
		t.Error("not torn down, or not deleted")
	}
}

// What a server that was killed had started of a setup is ended by the next
// one, which says so.
func TestRestartEndsASetup(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system shows no environments")
	}
	p := newPlace(t)
	r := p.serve(t)
	w, other := r.makes("w"), r.makes("other")
	for _, stage := range []struct{ id, name, state string }{
		{w.ID, "setup", "running"}, {other.ID, "setup", "running"}, {other.ID, "setup", "done"},
	} {
		if err := r.store.AddStage(t.Context(), stage.id, workspace.Stage{Name: stage.name, State: stage.state, Time: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	r.stop()
	left := exec.Command("sleep", "1000")
	left.Env = []string{"MIDDLEMAN_SETUP=" + w.ID}
	spared := exec.Command("sleep", "1000")
	spared.Env = []string{"MIDDLEMAN_SETUP=" + w.ID + "0"}
	for _, cmd := range []*exec.Cmd{left, spared} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	r = p.serve(t)
	if err := <-ended; err == nil || err.Error() != "signal: killed" {
		t.Errorf("it ended with %v", err)
	}
	if err := spared.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := spared.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("the other ended with %v", err)
	}
	w, other = get[api.Workspace](r, "GET", "/workspaces/"+w.ID, nil), get[api.Workspace](r, "GET", "/workspaces/"+other.ID, nil)
	if last := stageDetailLast(w, "setup"); !strings.HasPrefix(last, "failed the server ended while this ran") {
		t.Errorf("stage: %s", last)
	}
	if last := stageDetailLast(other, "setup"); last != "done " {
		t.Errorf("stage of another: %s", last)
	}
}

func TestTeardown(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	torn := filepath.Join(p.dirs.Data, "torn")
	good := "teardown = [\"echo $MIDDLEMAN_WORKSPACE_NAME $$ >>'" + torn + "'; test ! -e in-the-way\"]\n"
	hash := p.configure(t, good)
	r.call("POST", "/trust", api.ApproveIn{Directory: p.repository, Hash: hash})
	w := r.makes("w")
	s := r.session(w, "sh", "-c", "read line")
	write(t, filepath.Join(w.Path, "in-the-way"), "")
	const consents = "?discard_work=1&stop_sessions=1"

	dry := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+consents+"&dry_run=1", nil)
	if len(dry.Teardown) != 1 || has(torn) {
		t.Errorf("dry run: %q, ran: %t", dry.Teardown, has(torn))
	}
	if a := r.call("DELETE", "/workspaces/"+w.ID, nil); a.status != 409 || has(torn) {
		t.Errorf("refused, and torn down nevertheless: %s", a.body)
	}
	a := r.call("DELETE", "/workspaces/"+w.ID+consents, nil)
	if a.status != http.StatusConflict || a.problem(t).Code != api.CodeTeardown || !has(w.Root) {
		t.Errorf("teardown that fails: %d %s", a.status, a.body)
	}
	if again := get[api.Session](r, "GET", "/sessions/"+s.ID, nil); again.State.Ended() {
		t.Error("sessions were stopped before the teardown")
	}

	// What somebody writes into the checkout is not run; what was agreed to is.
	write(t, filepath.Join(w.Path, repoconfig.Name), "teardown = [\"touch "+torn+".hostile\"]\n")
	if err := os.Remove(filepath.Join(w.Path, "in-the-way")); err != nil {
		t.Fatal(err)
	}
	deleted := get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+consents, nil)
	if len(deleted.Teardown) != 1 || has(w.Root) || has(torn+".hostile") {
		t.Errorf("%+v", deleted)
	}
	if text, err := os.ReadFile(torn); err != nil || strings.Count(string(text), "w ") != 2 {
		t.Errorf("torn down: %q, %v", text, err)
	}

	// Skipping it is a consent of its own.
	two := r.makes("two")
	write(t, filepath.Join(two.Path, "in-the-way"), "")
	deleted = get[api.Deleted](r, "DELETE", "/workspaces/"+two.ID+"?discard_work=1&skip_teardown=1", nil)
	if text, _ := os.ReadFile(torn); strings.Contains(string(text), "two") || len(deleted.Teardown) != 0 || has(two.Root) {
		t.Errorf("skipped: %q, %+v", text, deleted)
	}

	// Without the agreement nothing is run any more.
	three := r.makes("three")
	get[api.Revoked](r, "DELETE", "/trust?directory="+p.repository, nil)
	get[api.Deleted](r, "DELETE", "/workspaces/"+three.ID, nil)
	if text, _ := os.ReadFile(torn); strings.Contains(string(text), "three") || has(three.Root) {
		t.Errorf("taken back: %q", text)
	}
}
