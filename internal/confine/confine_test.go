package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"middleman/internal/agent"
	"middleman/internal/config"
	"middleman/internal/environ"
	"middleman/internal/sandbox"
)

// place is a home directory with a workspace.
type place struct {
	maker   Maker
	session Session
}

func newPlace(t *testing.T, method sandbox.Method) place {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(parts ...string) string { return filepath.Join(append([]string{top}, parts...)...) }
	for _, dir := range []string{"home/.ssh", "home/notes", "data/workspaces/w", "data/hooks/s1", "config", "run/own", "bin", "tmp"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, at("bin/middleman"), "program", time.Now())
	return place{
		Maker{Home: at("home"), Executable: at("bin/middleman"), Dirs: config.Dirs{Data: at("data"), Config: at("config"), Runtime: at("run")}},
		Session{
			ID: "s1", Workspace: "w", Root: at("data/workspaces/w"), Dir: at("data/workspaces/w"), Made: true, Level: sandbox.Workspace, Method: method,
			Hooks: at("data/hooks/s1"),
		},
	}
}

func write(t *testing.T, path, text string, at time.Time) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err == nil {
		err = os.Chtimes(path, at, at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p place) make(t *testing.T, env ...string) (Confined, environ.Environment) {
	t.Helper()
	var e environ.Environment
	e.Set(environ.Listed, "HOME="+p.maker.Home)
	e.Set(environ.Named, env...)
	c, err := p.maker.Make(p.session, &e)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Policy.Check(); err != nil {
		t.Fatalf("the policy cannot be enforced: %v\n%+v", err, c.Policy)
	}
	return c, e
}

func has(t *testing.T, what string, list []string, want ...string) {
	t.Helper()
	for _, path := range want {
		if !slices.Contains(list, path) {
			t.Errorf("%s has no %s: %q", what, path, list)
		}
	}
}

// A policy of each method can be enforced, is what was written, and names what it must.
func TestMake(t *testing.T) {
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(string(method), func(t *testing.T) {
			p := newPlace(t, method)
			p.maker.Settings = config.Sandbox{
				Writable: []string{"~/notes", "~/none"}, Hide: []string{p.maker.Executable + ".key"}, Show: []string{"~/.ssh"}, Memory: 1 << 30, FileSize: 1 << 20, Processes: 50,
			}
			write(t, p.maker.Executable+".key", "k", time.Now())
			p.session.Profile = agent.Profile{Definition: agent.Definition{Directories: []string{"KEEP=~/.agent", "~/.other"}}}
			c, env := p.make(t, "GOCACHE=/mine", "TMPDIR="+filepath.Join(filepath.Dir(p.maker.Home), "tmp"))
			private := filepath.Join(p.maker.Dirs.Data, "private/w")
			has(t, "writable", c.Policy.Writable, p.session.Root, filepath.Join(p.maker.Home, "notes"), filepath.Join(private, "cache"))
			has(t, "hidden", c.Policy.Hidden, p.maker.Dirs.Data, p.maker.Dirs.Config, p.maker.Dirs.Runtime, p.maker.Executable+".key")
			has(t, "show", c.Policy.Show, p.maker.Executable, p.session.Hooks, p.maker.Dirs.Own(), filepath.Join(p.maker.Home, ".ssh"))
			if slices.Contains(c.Policy.Hidden, filepath.Join(p.maker.Home, ".ssh")) {
				t.Error("sandbox.show hides nothing less")
			}
			for name, want := range map[string]string{
				"GOCACHE": "/mine", "PIP_CACHE_DIR": filepath.Join(private, "cache/pip"), sandbox.LevelVariable: "workspace", sandbox.SocketVariable: p.maker.Dirs.OwnSocket(),
			} {
				if got := env.Lookup(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if !strings.HasPrefix(env.Lookup("KEEP"), private) {
				t.Errorf("KEEP is %q", env.Lookup("KEEP"))
			}
			if other := filepath.Join(p.maker.Home, ".other"); (method == sandbox.Bubblewrap) != slices.ContainsFunc(c.Policy.Binds, func(b sandbox.Bind) bool { return b.To == other && b.Write }) {
				t.Errorf("binds: %+v", c.Policy.Binds)
			}
			read, err := p.maker.Read("s1")
			if err != nil || read.Digest() != c.Applied.Digest || !slices.Contains(c.Wrapper, c.Applied.Digest) {
				t.Errorf("%v: read %s, applied %s, started with %q", err, read.Digest(), c.Applied.Digest, c.Wrapper)
			}
			if err := p.maker.Forget("s1"); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(p.maker.Dirs.Sandbox("s1")); err == nil {
				t.Error("the session is gone, and its policy is there")
			}
		})
	}
}

// What would let a program change everything is refused.
func TestTooMuchIsRefused(t *testing.T) {
	for name, change := range map[string]func(*place){
		"home":         func(p *place) { p.session.Root, p.session.Dir = p.maker.Home, p.maker.Home },
		"above":        func(p *place) { p.session.Root = filepath.Dir(p.maker.Home) },
		"data":         func(p *place) { p.maker.Settings.Writable = []string{p.maker.Dirs.Data} },
		"a state file": func(p *place) { p.maker.Settings.Show = []string{p.maker.Dirs.Own()} },
		"own sockets":  func(p *place) { p.session.Profile.Writable = []string{p.maker.Dirs.Runtime} },
		"settings that are not there yet": func(p *place) {
			p.maker.Dirs.Config = filepath.Join(p.maker.Home, "notes", "middleman")
			p.session.Root = filepath.Dir(p.maker.Dirs.Config)
		},
		"a copy of the sessions": func(p *place) {
			p.session.Profile = agent.Profile{Source: agent.User, Definition: agent.Definition{Directories: []string{"KEEP=" + p.maker.Dirs.Sessions()}}}
		},
		"a copy by a variable": func(p *place) {
			p.session.Profile = agent.Profile{Source: agent.User, Definition: agent.Definition{Directories: []string{"TMPDIR=~/notes"}}}
		},
		"the sessions":              workspaceIn("sessions"),
		"the sandboxes":             workspaceIn("sandbox"),
		"the copies":                workspaceIn("private"),
		"the git directories":       workspaceIn("quarantine"),
		"one session":               workspaceIn("sessions/s2"),
		"all workspaces":            workspaceIn("workspaces"),
		"all of a repository":       workspaceIn("workspaces/repo"),
		"another workspace":         inPlace("workspaces/repo/other"),
		"in another workspace":      inPlace("workspaces/repo/other/sub"),
		"the directory of sockets":  inPlace("../run/own"),
		"settings":                  inPlace("../config"),
		"a link to the sessions":    linkTo("sessions"),
		"another name of a session": linkTo("sessions/s2"),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, sandbox.Bubblewrap)
			for _, dir := range []string{"sessions/s2", "sandbox", "private", "quarantine", "workspaces/repo/other/sub"} {
				if err := os.MkdirAll(filepath.Join(p.maker.Dirs.Data, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			change(&p)
			var env environ.Environment
			env.Set(environ.Named, "TMPDIR="+p.maker.Dirs.Sessions())
			if c, err := p.maker.Make(p.session, &env); err == nil || !strings.Contains(err.Error(), "which holds") && !strings.Contains(err.Error(), "which lies in") && !strings.Contains(err.Error(), "stay hidden") {
				t.Errorf("%v: %+v", err, c.Policy.Writable)
			}
		})
	}
}

// workspaceIn makes a directory of the data directory the workspace, as if middleman had
// made it.
func workspaceIn(below string) func(*place) {
	return func(p *place) {
		p.session.Root = filepath.Join(p.maker.Dirs.Data, below)
		p.session.Dir = p.session.Root
	}
}

// inPlace makes it the workspace, as the user's directory.
func inPlace(below string) func(*place) {
	return func(p *place) {
		workspaceIn(below)(p)
		p.session.Made = false
	}
}

// linkTo makes a link to it the workspace.
func linkTo(below string) func(*place) {
	return func(p *place) {
		link := filepath.Join(p.maker.Home, "notes", "link")
		if err := os.Symlink(filepath.Join(p.maker.Dirs.Data, below), link); err != nil {
			panic(err)
		}
		p.session.Root, p.session.Dir, p.session.Made = link, link, false
	}
}

// Without mounts the program shares the directory of temporary files, but never one of
// middleman's own.
func TestOwnDirectoryIsNoTemp(t *testing.T) {
	p := newPlace(t, sandbox.Landlock)
	if err := os.MkdirAll(p.maker.Dirs.Sessions(), 0o700); err != nil {
		t.Fatal(err)
	}
	if c, _ := p.make(t, "TMPDIR="+p.maker.Dirs.Sessions()); sandbox.Within(c.Policy.Temp, p.maker.Dirs.Sessions()) {
		t.Errorf("temporary files are in %s", c.Policy.Temp)
	}
}

// Workspaces that middleman makes lie in its data: by repository and name, or by id.
func TestOwnWorkspaces(t *testing.T) {
	for _, below := range []string{"workspaces/w", "workspaces/repo/name", "workspaces/repo/name/.middleman/work/w"} {
		p := newPlace(t, sandbox.Bubblewrap)
		workspaceIn(below)(&p)
		if err := os.MkdirAll(p.session.Root, 0o700); err != nil {
			t.Fatal(err)
		}
		c, _ := p.make(t)
		has(t, "writable", c.Policy.Writable, p.session.Root)
	}
}

// A profile of a repository opens nothing, and a worker gets no more than its parent.
func TestWhoseProfileOpens(t *testing.T) {
	for _, tt := range []struct {
		name   string
		source string
		parent *sandbox.Policy
		opens  bool
	}{
		{"the user's", agent.User, nil, true},
		{"a repository's", agent.Repository, nil, false},
		{"of a worker", agent.User, &sandbox.Policy{Level: sandbox.Workspace, Writable: []string{"/elsewhere"}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t, sandbox.Bubblewrap)
			p.session.Profile = agent.Profile{Source: tt.source, Definition: agent.Definition{Writable: []string{"~/notes"}, Directories: []string{"KEEP=~/.agent"}}}
			p.session.Parent = tt.parent
			c, _ := p.make(t)
			if got := slices.Contains(c.Policy.Writable, filepath.Join(p.maker.Home, "notes")); got != tt.opens {
				t.Errorf("writable: %q", c.Policy.Writable)
			}
			if (tt.source == agent.Repository || tt.parent != nil) && len(c.Applied.Private) > 0 {
				t.Errorf("copies: %q", c.Applied.Private)
			}
		})
	}
}

// The limits of a worker are those of the settings, and no wider than its parent's.
func TestLimitsOfWorkers(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		settings, parent, want sandbox.Limits
	}{
		{"wider settings", sandbox.Limits{Memory: 8 << 30, Files: 8 << 20}, sandbox.Limits{Memory: 4 << 30, Files: 4 << 20, Processes: 50}, sandbox.Limits{Memory: 4 << 30, Files: 4 << 20, Processes: 50}},
		{"no limits any more", sandbox.Limits{}, sandbox.Limits{Memory: 4 << 30}, sandbox.Limits{Memory: 4 << 30}},
		{"tighter settings", sandbox.Limits{Memory: 1 << 30, Files: 1 << 20}, sandbox.Limits{Memory: 4 << 30}, sandbox.Limits{Memory: 1 << 30, Files: 1 << 20}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t, sandbox.Bubblewrap)
			p.maker.Settings.Memory, p.maker.Settings.FileSize = config.Size(tt.settings.Memory), config.Size(tt.settings.Files)
			p.session.Parent = &sandbox.Policy{Level: sandbox.Workspace, Limits: tt.parent}
			if c, _ := p.make(t); c.Policy.Limits != tt.want {
				t.Errorf("limits %+v, want %+v", c.Policy.Limits, tt.want)
			}
		})
	}
}

// A copy has the plain files, not what links lead to; the newer file wins; what the
// sandbox put in the way stays; and nothing is written outside.
func TestCopies(t *testing.T) {
	p := newPlace(t, sandbox.Bubblewrap)
	home, now := p.maker.Home, time.Now().Truncate(time.Second)
	write(t, filepath.Join(home, ".agent/settings.json"), "old", now.Add(-time.Hour))
	write(t, filepath.Join(home, ".agent/deep/login"), "one", now.Add(-time.Hour))
	write(t, filepath.Join(home, ".agent.json"), "beside", now)
	write(t, filepath.Join(home, ".ssh/key"), "secret", now)
	write(t, filepath.Join(home, ".agent/large"), strings.Repeat("x", maxFile+1), now)
	if err := os.Symlink(filepath.Join(home, ".ssh/key"), filepath.Join(home, ".agent/link")); err != nil {
		t.Fatal(err)
	}
	p.session.Profile.Directories = []string{"AGENT_HOME=~/.agent"}
	c, env := p.make(t)
	dir := env.Lookup("AGENT_HOME")
	expect := func(name, want string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s has %q, %v; want %q", name, got, err, want)
		}
	}
	expect("settings.json", "old")
	expect("deep/login", "one")
	expect(".agent.json", "beside")
	expect("link", "")
	expect("large", "")
	if !strings.Contains(strings.Join(c.Notes, ""), "2 files of ~/.agent") {
		t.Errorf("notes: %q", c.Notes)
	}
	write(t, filepath.Join(dir, "settings.json"), "inside", now)
	write(t, filepath.Join(home, ".agent/deep/login"), "two", now.Add(time.Hour))
	victim := filepath.Join(home, ".agent.json")
	if err := os.Remove(filepath.Join(dir, ".agent.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, ".agent.json")); err != nil {
		t.Fatal(err)
	}
	write(t, victim, "newer", now.Add(time.Hour))
	p.make(t)
	expect("settings.json", "inside")
	expect("deep/login", "two")
	if text, err := os.ReadFile(victim); err != nil || string(text) != "newer" {
		t.Errorf("the user's file has %q, %v", text, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, tempPattern+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// The copy of a worker is of the directory that the profile names: its parent, which may
// not read another, can name one in a variable.
func TestCopiesOfAWorker(t *testing.T) {
	p := newPlace(t, sandbox.Bubblewrap)
	write(t, filepath.Join(p.maker.Home, ".agent/login"), "login", time.Now())
	write(t, filepath.Join(p.maker.Home, ".ssh/key"), "secret", time.Now())
	p.session.Profile.Directories = []string{"AGENT_HOME=~/.agent"}
	p.session.Parent, p.session.ParentPrivate = &sandbox.Policy{Level: sandbox.Workspace}, []string{"~/.agent"}
	_, env := p.make(t, "AGENT_HOME="+filepath.Join(p.maker.Home, ".ssh"))
	names, err := filepath.Glob(filepath.Join(env.Lookup("AGENT_HOME"), "*"))
	if err != nil || len(names) != 1 || filepath.Base(names[0]) != "login" {
		t.Errorf("the copy has %q, %v", names, err)
	}
}

// A network list opens these hosts at every level, and nothing else.
func TestNetwork(t *testing.T) {
	for _, c := range []struct {
		level sandbox.Level
		list  []string
		off   bool
		shown string
	}{
		{sandbox.Workspace, nil, false, "open"},
		{sandbox.Strict, nil, true, "off"},
		{sandbox.Workspace, []string{"registry.example"}, false, "only registry.example"},
		{sandbox.Strict, []string{"registry.example", "*.example.org:443"}, false, "only registry.example, *.example.org:443"},
	} {
		p := newPlace(t, sandbox.Bubblewrap)
		p.session.Level, p.session.Network = c.level, c.list
		made, _ := p.make(t)
		n := made.Policy.Network
		if n.Off != c.off || !slices.Equal(n.Allow, c.list) || (n.Log != "") != (len(c.list) > 0) {
			t.Errorf("%s with %q: %+v", c.level, c.list, n)
		}
		if a := made.Applied; a.Network != c.shown || !slices.Equal(a.Hosts, c.list) {
			t.Errorf("%s with %q is shown as %q, %q", c.level, c.list, a.Network, a.Hosts)
		}
		if err := made.Policy.Check(); err != nil {
			t.Error(err)
		}
	}
}

// A secret's value is in no variable of the program and in no file that it sees, and the
// proxy gets it for the hosts that it is for.
func TestSecrets(t *testing.T) {
	p := newPlace(t, sandbox.Bubblewrap)
	p.maker.Settings = config.Sandbox{Secrets: []string{"KEY api.example", "OTHER b.example:8443", "UNSET c.example"}}
	p.session.Profile.Secrets = []string{"OTHER a.example"}
	p.session.Network = []string{"api.example"}
	c, env := p.make(t, "KEY=the real value", "OTHER=another value", "URL=https://the real value@api.example", "PLAIN=x")
	for _, entry := range env.Entries() {
		if strings.Contains(entry, "the real value") || strings.Contains(entry, "another value") {
			t.Errorf("the program has %s", entry)
		}
	}
	key := env.Lookup("KEY")
	if !strings.HasPrefix(key, "masked-") || env.Lookup("URL") != "https://"+key+"@api.example" || env.Lookup("PLAIN") != "x" || env.Lookup("UNSET") != "" {
		t.Errorf("%q", env.Entries())
	}
	if want := []string{"OTHER a.example:443", "KEY api.example:443"}; !slices.Equal(c.Applied.Secrets, want) {
		t.Errorf("applied: %q, want %q", c.Applied.Secrets, want)
	}
	raw, err := os.ReadFile(c.Policy.Network.Secrets)
	if err != nil || !strings.Contains(string(raw), "the real value") || !strings.Contains(string(raw), key) {
		t.Errorf("the proxy gets %q: %v", raw, err)
	}
	if slices.ContainsFunc(c.Policy.Show, func(path string) bool { return sandbox.Within(c.Policy.Network.Secrets, path) }) {
		t.Errorf("the values are shown inside: %q", c.Policy.Show)
	}
	authority := env.Lookup("SSL_CERT_FILE")
	has(t, "show", c.Policy.Show, authority)
	if raw, err := os.ReadFile(authority); err != nil || strings.Count(string(raw), "BEGIN CERTIFICATE") == 0 || strings.Contains(string(raw), "PRIVATE KEY") {
		t.Errorf("the program trusts %d bytes: %v", len(raw), err)
	}

	// A worker has the secrets of its parent, also where its own profile says less.
	worker := newPlace(t, sandbox.Bubblewrap)
	worker.session.Parent, worker.session.Network = &c.Policy, []string{"api.example"}
	worker.session.Profile.Secrets = []string{"KEY evil.example"}
	_, env = worker.make(t, "KEY=the real value")
	if c, _ := worker.make(t, "KEY=the real value"); env.Lookup("KEY") == "the real value" || !slices.Equal(c.Applied.Secrets, []string{"KEY api.example:443"}) {
		t.Errorf("worker: %q, %q", env.Lookup("KEY"), c.Applied.Secrets)
	}

	// What its parent passes on is a placeholder, which stays as it is.
	if c, passed := worker.make(t, "KEY="+key); passed.Lookup("KEY") != key || c.Policy.Network.Secrets != "" || len(c.Notes) != 1 {
		t.Errorf("worker: %q, %q, %q", passed.Lookup("KEY"), c.Policy.Network.Secrets, c.Notes)
	}

	// What the proxy cannot put in is refused; a variable that is not there needs nothing.
	p.session.Network = nil
	var e environ.Environment
	if _, err := p.maker.Make(p.session, &e); err != nil {
		t.Error(err)
	}
	e.Set(environ.Named, "KEY=the real value")
	if _, err := p.maker.Make(p.session, &e); err == nil || !strings.Contains(err.Error(), "network list") {
		t.Errorf("without a network list: %v", err)
	}
	p.session.Profile.Secrets, p.session.Profile.Source, p.maker.Settings.Secrets = []string{"KEY api.example"}, agent.Repository, nil
	if _, err := p.maker.Make(p.session, &e); err != nil || e.Lookup("KEY") != "the real value" {
		t.Errorf("a repository's profile masks: %q, %v", e.Lookup("KEY"), err)
	}
}

// A link that a program could have made opens nothing to the next session.
func TestPlantedLinks(t *testing.T) {
	for name, settings := range map[string]config.Sandbox{
		"writable below a writable directory": {Writable: []string{"~/notes", "~/notes/planted"}},
		"writable below the workspace":        {Writable: []string{"WORKSPACE/planted"}},
		"shown below a writable directory":    {Writable: []string{"~/notes"}, Show: []string{"~/notes/planted/id"}},
		"shown below the workspace":           {Show: []string{"WORKSPACE/planted"}},
	} {
		p := newPlace(t, sandbox.Bubblewrap)
		write(t, filepath.Join(p.maker.Home, ".ssh", "id"), "key", time.Now())
		for _, dir := range []string{filepath.Join(p.maker.Home, "notes"), p.session.Root} {
			if err := os.Symlink(filepath.Join(p.maker.Home, ".ssh"), filepath.Join(dir, "planted")); err != nil {
				t.Fatal(err)
			}
		}
		for _, list := range [][]string{settings.Writable, settings.Show} {
			for i := range list {
				list[i] = strings.ReplaceAll(list[i], "WORKSPACE", p.session.Root)
			}
		}
		p.maker.Settings = settings
		var e environ.Environment
		if c, err := p.maker.Make(p.session, &e); err == nil || !strings.Contains(err.Error(), "planted, which sandboxed programs can change") {
			t.Errorf("%s: writable %q, shown %q, %v", name, c.Policy.Writable, c.Policy.Show, err)
		}
	}
}

// What loaders and shells read reaches the program, and no process outside.
func TestLoadersVariables(t *testing.T) {
	p := newPlace(t, sandbox.Bubblewrap)
	bad := []string{"LD_PRELOAD=evil.so", "BASH_ENV=evil", "GODEBUG=x=1", "BASH_FUNC_ls%%=() { evil; }", "ENV=evil"}
	c, env := p.make(t, append(bad, "PLAIN=x", "ENVIRONMENT=x")...)
	for _, entry := range env.Entries() {
		if slices.Contains(bad, entry) {
			t.Errorf("the owner has %s", entry)
		}
	}
	has(t, "the program's variables", c.Policy.Env, bad...)
	has(t, "the owner's variables", env.Entries(), "PLAIN=x", "ENVIRONMENT=x")
}

// What no proxy has taken ends with the session, and a file that is no program is not
// shown as one.
func TestLeftovers(t *testing.T) {
	p := newPlace(t, sandbox.Bubblewrap)
	p.maker.Settings.Secrets, p.session.Network = []string{"KEY api.example"}, []string{"api.example"}
	key := filepath.Join(p.maker.Home, ".ssh", "id")
	write(t, key, "key", time.Now())
	p.session.Program = filepath.Join(p.session.Root, "run")
	if err := os.Symlink(key, p.session.Program); err != nil {
		t.Fatal(err)
	}
	c, _ := p.make(t, "KEY=the real value")
	if slices.Contains(c.Policy.Show, key) {
		t.Errorf("a hidden file is shown, because a link to it was started: %q", c.Policy.Show)
	}
	if err := p.maker.RemoveTemp("s1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(c.Policy.Network.Secrets); !os.IsNotExist(err) {
		t.Errorf("the values are left: %v", err)
	}
}

// What leads to another workspace from a writable directory is read-only, from its top.
func TestOtherWorkspaces(t *testing.T) {
	for _, tt := range []struct {
		name, other, want, refused string // below the root
		method                     sandbox.Method
	}{
		{"a worker", ".middleman/work/w2", ".middleman", "", sandbox.Bubblewrap},
		{"further below", "sub/repo/.middleman/work/w2", "sub", "", sandbox.Bubblewrap},
		{"under Landlock", ".middleman/work/w2", "", "Landlock cannot protect it", sandbox.Landlock},
		{"beside it", "../w2", "", "", sandbox.Landlock},
		{"around it", "..", "", "", sandbox.Landlock},
		{"not there", "gone/w2", "", "", sandbox.Landlock},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t, tt.method)
			other := filepath.Join(p.session.Root, tt.other)
			if tt.name != "not there" {
				if err := os.MkdirAll(other, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			p.session.Others = []string{other, other}
			env := environ.Environment{}
			c, err := p.maker.Make(p.session, &env)
			if tt.refused != "" || err != nil {
				if err == nil || tt.refused == "" || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("%v, want %q", err, tt.refused)
				}
				return
			}
			var want []string
			if tt.want != "" {
				want = []string{filepath.Join(p.session.Root, tt.want)}
			}
			if !slices.Equal(c.Policy.ReadOnly, want) {
				t.Errorf("read-only: %q, want %q", c.Policy.ReadOnly, want)
			}
		})
	}
	p := newPlace(t, sandbox.Bubblewrap)
	p.session.Profile = agent.Profile{Source: agent.User, Definition: agent.Definition{Writable: []string{"~/notes"}}}
	p.session.Root = filepath.Join(p.maker.Home, "notes/mine")
	p.session.Dir, p.session.Made, p.session.Others = p.session.Root, false, []string{filepath.Join(p.maker.Home, "notes/mine2/.middleman/work/w"), filepath.Join(p.session.Root, "..", "mine", "deep", "w")}
	for _, dir := range append(p.session.Others, p.session.Root) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := environ.Environment{}
	if _, err := p.maker.Make(p.session, &env); err == nil || !strings.Contains(err.Error(), "leads to another workspace") {
		t.Errorf("its own workspace lies in what leads to another: %v", err)
	}
}
