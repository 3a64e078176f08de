//go:build linux || darwin

package server_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/environ"
	"middleman/internal/server"
	"middleman/terminal"
	"middleman/workspace"
)

// caller is an environment in the form for requests.
func caller(entries ...string) [][]byte {
	out := [][]byte{}
	for _, entry := range entries {
		out = append(out, []byte(entry))
	}
	return out
}

// environment starts a session that writes its environment to a file, and
// returns it.
func (r *running) environment(w api.Workspace, in api.NewSession) (api.Session, map[string]string) {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "environment")
	// dash does not pass on names such as BASH_FUNC_f%%; where /proc is missing, sh is bash.
	in.Command = []string{"/bin/sh", "-c", `cat /proc/$$/environ >"$0" 2>/dev/null || env -0 >"$0"`, file}
	s := get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", in)
	get[api.Waited](r, "GET", "/sessions/"+s.ID+"/wait?for=exit&timeout=60s", nil)
	return s, readEnvironment(r.t, file)
}

func readEnvironment(t *testing.T, file string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(raw), "\x00"), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

// sources are the sources of a session's variables, by name.
func (r *running) sources(id string) map[string]string {
	r.t.Helper()
	out := map[string]string{}
	for _, v := range get[api.Session](r, "GET", "/sessions/"+id, nil).Environment {
		out[v.Name] = v.Source
	}
	return out
}

// check compares values and sources of some variables; the value "-" is that of
// a variable that must not be there.
func (r *running) check(what string, s api.Session, env map[string]string, want map[string][2]string) {
	r.t.Helper()
	sources := r.sources(s.ID)
	for name, w := range want {
		value, there := env[name]
		if w[0] == "-" && there || w[0] != "-" && (value != w[0] || sources[name] != w[1]) {
			r.t.Errorf("%s: %s is %q from %q, want %q", what, name, value, sources[name], w)
		}
	}
	for name := range sources {
		if _, there := env[name]; !there {
			r.t.Errorf("%s: %s is told and not there", what, name)
		}
	}
}

func TestEnvironmentOfSessions(t *testing.T) { eachBackend(t, environmentOfSessions) }

func environmentOfSessions(t *testing.T, p *place) {
	t.Setenv("DENIED_OF_LOGIN", "x")
	r := p.serve(t, func(o *server.Options) {
		o.EnvRules = environ.Rules{Forward: []string{"*"}, Deny: []string{"DENIED_*"}}
	})
	w := r.workspace("w", nil)
	shell := caller("HOME=/home/me", "PATH=/bin:/usr/bin", "TOKEN=t", "ODD=\xff\n\xfe", "BASH_FUNC_f%%=() {  :\n}", "LC_ALL=C", "TERM=odd", "MIDDLEMAN_TOKEN=x", "MIDDLEMAN_OTHER=x", "TMUX=/x", "SSH_AUTH_SOCK=/no/agent")

	s, env := r.environment(w, api.NewSession{CallerEnv: shell, AgentLink: true})
	r.check("a shell's", s, env, map[string][2]string{
		"HOME": {"/home/me", "caller"}, "TOKEN": {"t", "caller"}, "ODD": {"\xff\n\xfe", "caller"}, "BASH_FUNC_f%%": {"() {  :\n}", "caller"},
		"SSH_AUTH_SOCK": {"/no/agent", "caller"}, "SHELL": {"/bin/sh", "login"}, "USER": {"tester", "login"}, "OF_THE_LOGIN": {"-"},
		"MIDDLEMAN_WORKSPACE_NAME": {"w", "middleman"}, "MIDDLEMAN_OTHER": {"-"}, "TMUX": {"-"}, "SECRET_TOKEN": {"-"},
	})
	if env["MIDDLEMAN_TOKEN"] == "x" || r.sources(s.ID)["MIDDLEMAN_TOKEN"] != "middleman" {
		t.Errorf("MIDDLEMAN_TOKEN from %s: %s", r.sources(s.ID)["MIDDLEMAN_TOKEN"], env["MIDDLEMAN_TOKEN"])
	}
	if env["TERM"] == "odd" || r.sources(s.ID)["TERM"] != "middleman" {
		t.Errorf("TERM is %q", env["TERM"])
	}

	s, env = r.environment(w, api.NewSession{CallerEnv: shell, CleanEnv: true, Env: []string{"NAMED=n", "LC_ALL=C.UTF-8", "MINE="}})
	r.check("the allow-list of it", s, env, map[string][2]string{
		"HOME": {"/home/me", "allow-list"}, "PATH": {"/bin:/usr/bin", "allow-list"}, "TOKEN": {"-"}, "ODD": {"-"}, "SSH_AUTH_SOCK": {"-"},
		"NAMED": {"n", "--env"}, "LC_ALL": {"C.UTF-8", "--env"}, "MINE": {"", "--env"},
	})

	s, env = r.environment(w, api.NewSession{Env: []string{"OF_THE_LOGIN=no"}})
	r.check("a login's", s, env, map[string][2]string{
		"PATH": {os.Getenv("PATH"), "login"}, "SHELL": {"/bin/sh", "login"}, "OF_THE_LOGIN": {"no", "--env"}, "DENIED_OF_LOGIN": {"-"}, "SECRET_TOKEN": {"-"},
	})
	s, env = r.environment(w, api.NewSession{CleanEnv: true})
	r.check("the allow-list of a login's", s, env, map[string][2]string{
		"PATH": {os.Getenv("PATH"), "allow-list"}, "OF_THE_LOGIN": {"-"}, "SECRET_TOKEN": {"-"},
	})
	s, env = r.environment(w, api.NewSession{CallerEnv: caller()})
	r.check("an empty one", s, env, map[string][2]string{"SHELL": {"/bin/sh", "login"}, "OF_THE_LOGIN": {"-"}, "LC_ALL": {"-"}})
}

// A command is looked for in the session's own PATH, and the shell is its $SHELL.
func TestCommandOfTheSessionsPath(t *testing.T) {
	r := newPlace(t).serve(t, func(o *server.Options) { o.LoginShell = true })
	w := r.workspace("w", nil)
	bin := t.TempDir()
	write(t, filepath.Join(bin, "tool"), "#!/bin/sh\nsleep 1000\n")
	if err := os.Chmod(filepath.Join(bin, "tool"), 0o700); err != nil {
		t.Fatal(err)
	}
	sessions := "/workspaces/" + w.ID + "/sessions"
	in := api.NewSession{Command: []string{"tool"}, CallerEnv: caller("PATH="+bin+":/usr/bin:/bin", "SHELL="+filepath.Join(bin, "tool"))}
	if s := get[api.Session](r, "POST", sessions, in); s.Argv[0] != filepath.Join(bin, "tool") {
		t.Errorf("argv: %q", s.Argv)
	}
	in.Command = nil
	if s := get[api.Session](r, "POST", sessions, in); !slices.Equal(s.Argv, []string{filepath.Join(bin, "tool"), "-l"}) {
		t.Errorf("argv of the shell: %q", s.Argv)
	}
	in.CallerEnv = caller("SHELL=relative/sh")
	if s := get[api.Session](r, "POST", sessions, in); !slices.Equal(s.Argv, []string{"/bin/sh", "-l"}) {
		t.Errorf("argv without a usable $SHELL: %q", s.Argv)
	}
	in = api.NewSession{Command: []string{"tool"}, Env: []string{"PATH=" + bin}}
	if s := get[api.Session](r, "POST", sessions, in); s.Argv[0] != filepath.Join(bin, "tool") {
		t.Errorf("argv by a named PATH: %q", s.Argv)
	}
	if a := r.call("POST", sessions, api.NewSession{Command: []string{"tool"}}); a.problem(t).Code != api.CodeStartFailed {
		t.Errorf("a tool of another's PATH: %d %s", a.status, a.body)
	}
}

// A caller's environment is taken over the Unix socket alone, and its names are
// not told to who may watch one screen.
func TestCallerEnvIsOfTheSocket(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("w", nil)
	s := r.session(w, "cat")
	full := get[api.CreatedToken](r, "POST", "/tokens", api.NewToken{Name: "full", Scope: "full"}).Secret
	watch := get[api.CreatedToken](r, "POST", "/tokens", api.NewToken{Name: "watch", Scope: "session", Session: s.ID}).Secret
	with := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	first := api.NewSession{Command: []string{"cat"}, CallerEnv: caller("PATH=/bin")}
	for path, in := range map[string]any{
		"/workspaces/" + w.ID + "/sessions": first,
		"/workspaces":                       api.NewWorkspace{Name: "x", Directory: r.place.repository, Session: &first},
		"/workspaces/" + w.ID + "/retry":    api.Retry{CallerEnv: caller("A=b")},
	} {
		a := r.browse("POST", "/api/v1"+path, in, with(full)...)
		if p := a.problem(t); a.status != 403 || p.Code != api.CodeForbidden || !strings.Contains(p.Detail, "Unix socket") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if got := get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces; len(got) != 1 {
		t.Errorf("workspaces: %+v", got)
	}
	path := "/api/v1/sessions/" + s.ID
	if a := r.browse("GET", path, nil, with(full)...); a.status != 200 || !strings.Contains(string(a.body), `"MIDDLEMAN_SESSION"`) {
		t.Errorf("with a full token: %d %s", a.status, a.body)
	}
	if a := r.browse("GET", path, nil, with(watch)...); a.status != 200 || strings.Contains(string(a.body), "MIDDLEMAN_SESSION") {
		t.Errorf("with a token to watch: %d %s", a.status, a.body)
	}
}

func TestEnvironmentRefusals(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("w", nil)
	many := make([]string, environ.MaxVariables+1)
	for i := range many {
		many[i] = fmt.Sprintf("V%d=x", i)
	}
	for _, x := range []struct {
		name string
		in   api.NewSession
		want string
	}{
		{"no name", api.NewSession{CallerEnv: caller("=secret")}, "no name"},
		{"no value", api.NewSession{CallerEnv: caller("secret")}, "no name"},
		{"NUL", api.NewSession{CallerEnv: caller("A=secret\x00")}, "NUL"},
		{"too many", api.NewSession{CallerEnv: caller(many...)}, "at most 4096"},
		{"too large", api.NewSession{CallerEnv: caller("A=" + strings.Repeat("secret", environ.MaxBytes/6+1))}, "at most"},
		{"too large together", api.NewSession{CallerEnv: caller("A=" + strings.Repeat("x", environ.MaxBytes-100)), Env: []string{"B=" + strings.Repeat("x", 200)}}, "at most"},
		{"our terminal", api.NewSession{Env: []string{"TERM=secret"}}, "the session's terminal"},
		{"ours", api.NewSession{Env: []string{"MIDDLEMAN_HOME=secret"}}, "are reserved"},
	} {
		a := r.call("POST", "/workspaces/"+w.ID+"/sessions", x.in)
		p := a.problem(t)
		if a.status != 422 || !strings.Contains(p.Detail, x.want) || strings.Contains(p.Detail, "secret") || strings.Contains(p.Detail, "\n") {
			t.Errorf("%s: %d %s, want %q", x.name, a.status, a.body, x.want)
		}
	}
}

// A login whose environment is not known is said, and sessions start.
func TestLoginThatFails(t *testing.T) {
	r := newPlace(t).serve(t, func(o *server.Options) { o.Login = login{why: errors.New("the profile hangs")} })
	w := r.workspace("w", nil)
	if s := r.session(w, "true"); !strings.Contains(s.Note, "the profile hangs") {
		t.Errorf("session: %+v", s)
	}
}

// Nothing stored has a value. A retry from a shell has that shell's environment;
// what goes on after a restart has that of a login, and says so.
func TestValuesAreNotStored(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	heal := r.failing()
	const secret = "s3cret-of-the-caller"
	file := filepath.Join(t.TempDir(), "environment")
	first := &api.NewSession{
		Command:   []string{"/bin/sh", "-c", `env -0 >"$0"; cat`, file},
		CallerEnv: caller("PATH=/usr/bin:/bin", "TOKEN="+secret), Env: []string{"NAMED=" + secret},
	}
	retried, restarted := r.half("retried", first), r.half("restarted", first)
	r.searchState(secret)
	heal()
	get[api.Created](r, "POST", "/workspaces/"+retried.ID+"/retry", api.Retry{CallerEnv: caller("PATH=/usr/bin:/bin", "TOKEN=again")})
	env, stage := r.firstEnvironment(retried.ID, file)
	if env["TOKEN"] != "again" || env["OF_THE_LOGIN"] != "" || env["NAMED"] != "" || !strings.Contains(stage, "it has no NAMED") {
		t.Errorf("after a retry: %v, %q", env, stage)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := r.store.SetWorkspaceState(t.Context(), restarted.ID, workspace.StateCreating, ""); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r = p.serve(t)
	env, stage = r.firstEnvironment(restarted.ID, file)
	if env["TOKEN"] != "" || env["OF_THE_LOGIN"] != "yes" || !strings.Contains(stage, "was not kept") {
		t.Errorf("after a restart: %v, %q", env, stage)
	}

	// One that runs leaves no trace either, but in its program.
	s := get[api.Session](r, "POST", "/workspaces/"+retried.ID+"/sessions", api.NewSession{Command: []string{"cat"}, CallerEnv: first.CallerEnv, Env: first.Env})
	r.searchState(secret)
	for _, path := range []string{"/sessions", "/sessions/" + s.ID, "/workspaces/" + retried.ID, "/sessions/" + s.ID + "/output"} {
		if a := r.call("GET", path, nil); a.status != 200 || strings.Contains(string(a.body), secret) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if s.State != terminal.StateRunning {
		t.Errorf("session: %+v", s)
	}
}

// firstEnvironment waits for a workspace and returns what its first session has
// written to file, and the detail of the stage that started it.
func (r *running) firstEnvironment(id, file string) (env map[string]string, detail string) {
	r.t.Helper()
	w := get[api.Workspace](r, "GET", "/workspaces/"+id+"?wait=60s", nil)
	if w.State != workspace.StateReady || len(w.Sessions) != 1 {
		r.t.Fatalf("workspace: %+v", w)
	}
	for _, stage := range w.Stages {
		if stage.Name == "session" {
			detail = stage.Detail
		}
	}
	r.until("the environment is written", func() bool {
		raw, err := os.ReadFile(file)
		return err == nil && strings.HasSuffix(string(raw), "\x00")
	})
	return readEnvironment(r.t, file), detail
}

// searchState looks for a secret in all files of the place but its repository.
func (r *running) searchState(secret string) {
	r.t.Helper()
	files := 0
	err := filepath.WalkDir(r.place.dirs.Data, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if files++; strings.Contains(string(raw), secret) {
			r.t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil || files < 3 {
		r.t.Errorf("looked into %d files: %v", files, err)
	}
}
