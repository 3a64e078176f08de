//go:build linux

package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/bundle"
	"middleman/internal/sandbox"
)

// grantBundle is a bundle whose program shows what it gets.
func grantBundle(t *testing.T, r *running, revision int, uses, declarations string) api.BundleRef {
	t.Helper()
	text := fmt.Sprintf(`{"schema":1,"id":"team","revision":%d,"created":"2026-11-24T01:02:03Z","profiles":{
		"probe":{"command":["sh","-c","env | cut -d= -f1 >names; printf %%s \"$MODEL_KEY\" | wc -c >length; (cd \"$MIDDLEMAN_MOUNT_CACHE\" && cat data && echo x >>data) >read; echo done >done; cat"],"uses":[%s],"env":["EDITOR"]},
		"other":{"command":["cat"]}},"declarations":[%s]}`, revision, uses, declarations)
	pushed := get[api.PushedBundle](r, "POST", "/bundles", json.RawMessage(text))
	return api.BundleRef{ID: "team", Digest: pushed.Bundle.Digest}
}

const (
	fullUses     = `"secret:model-key","mount:cache","git:commit","cap:env.EDITOR"`
	declarations = `{"ref":"secret:model-key","env":"MODEL_KEY"},{"ref":"mount:cache","write":true},{"ref":"git:commit"},{"ref":"cap:env.EDITOR","optional":true}`
)

// policy writes the host's policy.
func (p *place) policy(t *testing.T, rules string) {
	t.Helper()
	if err := os.MkdirAll(p.dirs.Config, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, p.dirs.Policy(), rules)
	if err := os.Chmod(p.dirs.Policy(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func rule(kind, match, action, more string) string {
	return fmt.Sprintf("[[rules]]\nname = %q\nkind = %q\nmatch = [%q]\naction = %q\n%s\n", action+" "+match, kind, match, action, more)
}

// secretFile stores a secret of the host.
func (p *place) secretFile(t *testing.T, name, value string) {
	t.Helper()
	if err := os.MkdirAll(p.dirs.SecretFiles(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dirs.SecretFiles(), name), []byte(value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A launch by a bundle gets what the host's policy gives, says so, and its secret is in
// its program's environment alone: on both hosts.
func TestLaunchByBundle(t *testing.T) {
	if _, err := sandbox.Choose(sandbox.Workspace, sandbox.Probe()); err != nil {
		t.Skip(err)
	}
	eachBackend(t, func(t *testing.T, p *place) {
		const value = "correct-horse-battery-staple"
		cache := filepath.Join(filepath.Dir(p.repository), "cache")
		if err := os.Mkdir(cache, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(cache, "data"), "cached\n")
		p.secretFile(t, "model-key", value)
		p.policy(t, rule("secret-ref", "model-key", "allow", "")+rule("mount-grant", "cache", "narrow", fmt.Sprintf("path = %q", cache)))
		r := p.serve(t)
		w := r.workspace("granted", nil)
		ref := grantBundle(t, r, 1, fullUses, declarations)
		s := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Profile: "probe", Bundle: &ref})
		r.until("the program is done", func() bool { _, err := os.Stat(filepath.Join(w.Root, "done")); return err == nil })
		want := []string{"granted secret-ref:model-key allow model-key", "narrowed mount-grant:cache narrow cache", "granted git-policy:commit built-in", "refused capability-grant:env.EDITOR no rule"}
		var got []string
		for _, g := range s.Bundle.Grants {
			got = append(got, g.Result+" "+g.Asked+" "+g.Rule)
		}
		if !slices.Equal(got, want) || s.Profile != "team/probe" || s.Name != "probe" || s.Bundle.Digest != ref.Digest || !strings.Contains(s.Note, "env.EDITOR") {
			t.Errorf("%q, profile %s, name %s, note %q", got, s.Profile, s.Name, s.Note)
		}
		if s.Sandbox == nil || s.Sandbox.Level != sandbox.Workspace {
			t.Errorf("sandbox %+v", s.Sandbox)
		}
		for file, want := range map[string]string{"length": fmt.Sprint(len(value)), "read": "cached"} {
			if raw, err := os.ReadFile(filepath.Join(w.Root, file)); err != nil || strings.TrimSpace(string(raw)) != want {
				t.Errorf("%s: %q, %v", file, raw, err)
			}
		}
		if raw, err := os.ReadFile(filepath.Join(cache, "data")); err != nil || string(raw) != "cached\n" {
			t.Errorf("the mount was changed: %q, %v", raw, err)
		}
		if raw, err := os.ReadFile(filepath.Join(w.Root, "names")); err != nil || slices.Contains(strings.Fields(string(raw)), "EDITOR") {
			t.Errorf("%s, %v", raw, err)
		}
		if sources := r.sources(s.ID); sources["MODEL_KEY"] != "secret-ref" {
			t.Errorf("sources: %v", sources)
		}
		r.nowhere(s.ID, value)
		if a := r.call("DELETE", "/bundles/team", nil); a.status != 409 || a.problem(t).Code != api.CodeBundleInUse || !strings.Contains(string(a.body), "granted/probe") {
			t.Errorf("rm of one in use: %d %s", a.status, a.body)
		}
		// Its bundle moves.
		if s := get[api.Session](r, "GET", "/sessions/"+s.ID, nil); s.Bundle.Moved != nil {
			t.Errorf("%+v", s.Bundle.Moved)
		}
		newer := grantBundle(t, r, 2, fullUses+`,"cap:login"`, declarations+`,{"ref":"cap:login"}`)
		moved := get[api.Session](r, "GET", "/sessions/"+s.ID, nil).Bundle.Moved
		if moved == nil || moved.Digest != newer.Digest || moved.Revision != 2 || !slices.ContainsFunc(moved.Changes, func(c bundle.Change) bool { return c.Field == "declarations.capability-grant:login" }) {
			t.Errorf("%+v", moved)
		}
		// What ended is taken up by the same digest; it has no resume command.
		r.call("DELETE", "/sessions/"+s.ID+"?grace=0s", nil)
		r.nowhere(s.ID, value)
	})
}

// nowhere looks for a value in files of the data directory, the database and the journals
// among them, in the settings beside the secret's own file, in the arguments of all
// processes, and in what the API answers.
func (r *running) nowhere(session, value string) {
	r.t.Helper()
	r.searchState(value)
	for _, path := range []string{"/sessions", "/sessions/" + session, "/workspaces", "/sessions/" + session + "/capture", "/sessions/" + session + "/output", "/bundles", "/bundles/team", "/server", "/approvals", "/sessions/" + session + "/recording"} {
		if a := r.call("GET", path, nil); strings.Contains(string(a.body), value) {
			r.t.Errorf("GET %s has the secret", path)
		}
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) < 2 {
		r.t.Fatalf("%d processes, %v", len(files), err)
	}
	for _, file := range files {
		if raw, err := os.ReadFile(file); err == nil && strings.Contains(string(raw), value) {
			r.t.Errorf("%s has the secret", file)
		}
	}
}

// Each way in which a launch by a bundle is refused has its code, and nothing is left.
func TestRefusedLaunchByBundle(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	if _, err := sandbox.Choose(sandbox.Workspace, sandbox.Probe()); err != nil {
		t.Skip(err)
	}
	w := r.workspace("refused", nil)
	ref := grantBundle(t, r, 1, fullUses, declarations)
	flipped := []byte(ref.Digest)
	flipped[10] ^= 1
	refused := func(name string, in api.NewSession, status int, code, text string) {
		t.Helper()
		a := r.call("POST", "/workspaces/"+w.ID+"/sessions", in)
		if p := a.problem(t); a.status != status || p.Code != code || !strings.Contains(p.Detail+" "+p.Field, text) {
			t.Errorf("%s: %d %s %s", name, a.status, p.Code, p.Detail)
		}
	}
	refused("missing", api.NewSession{Profile: "probe", Bundle: &api.BundleRef{ID: "none", Digest: ref.Digest}}, 404, api.CodeBundleMissing, "there is no bundle none")
	refused("by name alone", api.NewSession{Profile: "team/probe"}, 404, api.CodeBundleMissing, "id and digest")
	refused("no digest", api.NewSession{Profile: "probe", Bundle: &api.BundleRef{ID: "team"}}, 409, api.CodeBundleDigest, "digest")
	refused("flipped digest", api.NewSession{Profile: "probe", Bundle: &api.BundleRef{ID: "team", Digest: string(flipped)}}, 409, api.CodeBundleDigest, "no revision")
	refused("profile", api.NewSession{Profile: "claude", Bundle: &ref}, 422, api.CodeBundleProfile, "no profile \"claude\"")
	refused("capability", api.NewSession{Profile: "probe", Bundle: &ref, Capabilities: []string{"cap:login"}}, 422, api.CodeBundleDeclared, "does not ask for")
	refused("unknown capability", api.NewSession{Profile: "probe", Bundle: &ref, Capabilities: []string{"cap:root"}}, 422, api.CodeBundleDeclared, "not supported")
	refused("no policy", api.NewSession{Profile: "probe", Bundle: &ref}, 422, api.CodeRefusedGrant, "secret-ref:model-key")
	p.policy(t, rule("secret-ref", "*", "allow", "")+rule("mount-grant", "*", "deny", ""))
	refused("denied", api.NewSession{Profile: "probe", Bundle: &ref}, 422, api.CodeRefusedGrant, "deny *")
	p.policy(t, rule("secret-ref", "*", "allow", "")+rule("mount-grant", "*", "allow", `path = "/"`))
	refused("bad policy", api.NewSession{Profile: "probe", Bundle: &ref}, 422, api.CodeBadConfig, "path is")
	p.policy(t, rule("secret-ref", "*", "allow", "")+rule("mount-grant", "*", "allow", `path = "/srv"`))
	refused("no secret", api.NewSession{Profile: "probe", Bundle: &ref}, 422, api.CodeSecret, "no file secrets/model-key")
	p.policy(t, rule("secret-ref", "*", "allow", "")+rule("mount-grant", "*", "narrow", `path = "/srv"`))
	refused("not without a sandbox", api.NewSession{Profile: "probe", Bundle: &ref, Sandbox: sandbox.None}, 422, api.CodeRefusedGrant, "without a sandbox")
	r.statement(`UPDATE bundles SET content = CAST(replace(CAST(content AS TEXT), 'EDITOR', 'EDITOS') AS BLOB)`)
	refused("flipped content", api.NewSession{Profile: "probe", Bundle: &ref}, 500, api.CodeBundleStore, "is damaged")
	if list := get[api.Sessions](r, "GET", "/sessions", nil); len(list.Sessions) != 0 {
		t.Errorf("%+v", list.Sessions)
	}
	// The built-in default needs no bundle.
	if s := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Profile: "shell"}); s.Bundle != nil {
		t.Errorf("%+v", s.Bundle)
	}
}

// git-policy:read-only keeps the program from commits, and the network list of a bundle
// becomes the sandbox's.
func TestBundlePolicyIsTheSandboxs(t *testing.T) {
	p := newPlace(t)
	git(t, p.repository, "config", "user.name", "n")
	git(t, p.repository, "config", "user.email", "n@example.org")
	r := p.serve(t)
	if method, err := sandbox.Choose(sandbox.Workspace, sandbox.Probe()); err != nil || method != sandbox.Bubblewrap {
		t.Skip("a network list needs bubblewrap")
	}
	w := r.workspace("kept", nil)
	pushed := get[api.PushedBundle](r, "POST", "/bundles", json.RawMessage(`{"schema":1,"id":"team","revision":1,"created":"2026-11-24T01:02:03Z","profiles":{
		"reader":{"command":["sh","-c","git log -1 >log; git status >status; echo x >new; git add new; git commit -m x; echo done >done; cat"],"uses":["git:read-only","net:api.example.com"]},
		"cut":{"command":["cat"],"uses":["net:off"]}},
		"declarations":[{"ref":"git:read-only"},{"ref":"net:api.example.com"},{"ref":"net:off"}]}`))
	ref := api.BundleRef{ID: "team", Digest: pushed.Bundle.Digest}
	s := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Profile: "reader", Bundle: &ref})
	if s.Sandbox == nil || !slices.Equal(s.Sandbox.Hosts, []string{"api.example.com"}) {
		t.Errorf("%+v", s.Sandbox)
	}
	r.until("the program is done", func() bool { _, err := os.Stat(filepath.Join(w.Root, "done")); return err == nil })
	if raw, err := os.ReadFile(filepath.Join(w.Root, "log")); err != nil || !strings.HasPrefix(string(raw), "commit ") {
		t.Errorf("git log: %q, %v", raw, err)
	}
	r.call("POST", "/workspaces/"+w.ID+"/sandbox/import", nil)
	if s := subject(t, p.repository, w.Branch); strings.TrimSpace(s) == "x" {
		t.Error("it has committed")
	}
	cut := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Profile: "cut", Bundle: &ref})
	if cut.Sandbox == nil || cut.Sandbox.Level != sandbox.Strict || cut.Sandbox.Network != "off" {
		t.Errorf("%+v", cut.Sandbox)
	}
	if a := r.call("POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Profile: "reader", Bundle: &ref, Network: []string{"other.org"}}); a.status != 422 {
		t.Errorf("its own list: %d %s", a.status, a.body)
	}
}

// The worker of a bundle's session is of the same content, and so is a session that
// takes up its conversation: whatever the bundle is by then. The policy is read anew.
func TestWorkerAndResumeOfABundle(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	if _, err := sandbox.Choose(sandbox.Workspace, sandbox.Probe()); err != nil {
		t.Skip(err)
	}
	text := `{"schema":1,"id":"team","revision":%d,"created":"2026-11-24T01:02:03Z","profiles":{
		"lead":{"command":["sh","-c","cat"],"identify":["{conversation}"],"resume":["sh","-c","echo %[2]s $0; cat","{conversation}"],"spawn":["check"],"uses":["secret:model-key"]},
		"check":{"command":["sh","-c","echo %[2]s; exit 3"]},"other":{"command":["cat"]}},"declarations":[{"ref":"secret:model-key","env":"MODEL_KEY"}]}`
	push := func(revision int, says string) api.BundleRef {
		pushed := get[api.PushedBundle](r, "POST", "/bundles", json.RawMessage(fmt.Sprintf(text, revision, says)))
		return api.BundleRef{ID: "team", Digest: pushed.Bundle.Digest}
	}
	p.secretFile(t, "model-key", "correct-horse-battery-staple")
	allowed := rule("secret-ref", "model-key", "allow", "")
	p.policy(t, allowed)
	ref := push(1, "first")
	w := r.workspace("led", nil)
	// spawn makes the launch ask for a capability, which no rule allows.
	if a := r.call("POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Profile: "lead", Bundle: &ref}); a.status != 422 || a.problem(t).Code != api.CodeRefusedGrant {
		t.Errorf("a launch whose capability is refused: %d %s", a.status, a.body)
	}
	p.policy(t, allowed+rule("capability-grant", "spawn", "allow", ""))
	parent := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Profile: "lead", Bundle: &ref})
	push(2, "second")

	worker := func(profile string) answer {
		return r.call("POST", "/sessions/"+parent.ID+"/workers", api.NewWorker{Isolation: "shared", Session: api.NewSession{Profile: profile}})
	}
	spawned := decode[api.Spawned](t, worker("team/check"))
	if b := spawned.Session.Bundle; b == nil || b.Digest != ref.Digest || spawned.Session.Sandbox == nil {
		t.Fatalf("the worker: %+v", spawned.Session)
	}
	if list := r.workersOf(parent); ended(t, list, spawned.Session.ID).Exit.Code != 3 {
		t.Errorf("%+v", list)
	}
	if out := r.call("GET", "/sessions/"+spawned.Session.ID+"/output", nil); !strings.Contains(string(out.body), "first") {
		t.Errorf("the worker said %q", out.body)
	}
	for _, profile := range []string{"team/other", "team/lead", "check", "other/check"} {
		if a := worker(profile); a.status != 403 {
			t.Errorf("a worker of profile %s: %d %s", profile, a.status, a.body)
		}
	}

	r.call("DELETE", "/sessions/"+parent.ID+"?grace=0s&keep=1", nil)
	again := get[api.Session](r, "POST", "/sessions/"+parent.ID+"/resume", api.NewSession{})
	if b := again.Bundle; b == nil || b.Digest != ref.Digest || again.Profile != "team/lead" {
		t.Errorf("resumed: %+v", again)
	}
	r.until("the resumed program says so", func() bool {
		return strings.Contains(string(r.call("GET", "/sessions/"+again.ID+"/output", nil).body), "first ")
	})
	if sources := r.sources(again.ID); sources["MODEL_KEY"] != "secret-ref" {
		t.Errorf("sources: %v", sources)
	}
	r.call("DELETE", "/sessions/"+again.ID+"?grace=0s&keep=1", nil)
	p.policy(t, rule("secret-ref", "model-key", "deny", ""))
	if a := r.call("POST", "/sessions/"+parent.ID+"/resume", api.NewSession{}); a.status != 422 || a.problem(t).Code != api.CodeRefusedGrant {
		t.Errorf("resumed against the policy: %d %s", a.status, a.body)
	}
}
