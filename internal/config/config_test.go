package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestLoad(t *testing.T) {
	bigWork, err := filepath.Abs("/big/work") // on Windows it is on a drive
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, in string
		want     func(*Config)
		wantErr  string
	}{
		{name: "empty"},
		{name: "listen", in: `listen = "127.0.0.1:9000"`, want: func(c *Config) { c.Listen = "127.0.0.1:9000" }},
		{name: "listen at any port", in: `listen = "127.0.0.1:0"`, want: func(c *Config) { c.Listen = "127.0.0.1:0" }},
		{name: "listen at a name", in: `listen = "localhost:65535"`, want: func(c *Config) { c.Listen = "localhost:65535" }},
		{name: "listen in IPv6", in: `listen = "[::1]:8091"`, want: func(c *Config) { c.Listen = "[::1]:8091" }},
		{name: "listen at all addresses", in: `listen = ":8091"`, want: func(c *Config) { c.Listen = ":8091" }},
		{name: "listen above all ports", in: `listen = "127.0.0.1:99999"`, wantErr: `listen is "127.0.0.1:99999": it must be HOST:PORT, such as 127.0.0.1:8091, with a port from 0 to 65535`},
		{name: "listen below all ports", in: `listen = "127.0.0.1:-1"`, wantErr: `listen is "127.0.0.1:-1": it must be HOST:PORT`},
		{name: "listen nowhere", in: `listen = ""`, wantErr: `listen is "": it must be HOST:PORT`},
		{name: "listen at a colon", in: `listen = ":"`, wantErr: `listen is ":": it must be HOST:PORT`},
		{name: "listen without a port", in: `listen = "127.0.0.1"`, wantErr: `listen is "127.0.0.1": it must be HOST:PORT`},
		{name: "listen in IPv6 without brackets", in: `listen = "::1:8091"`, wantErr: `listen is "::1:8091": it must be HOST:PORT`},
		{name: "keep all", in: "[terminal]\njournal_bytes = 0", want: func(c *Config) { c.Terminal.JournalBytes = 0 }},
		{name: "grace", in: "[terminal]\ngrace = \"1m\"", want: func(c *Config) { c.Terminal.Grace = Duration(time.Minute) }},
		{name: "detach", in: "[attach]\ndetach = \"ctrl-a\"", want: func(c *Config) { c.Attach.Detach = "ctrl-a" }},
		{name: "clipboard", in: "[attach]\nclipboard = \"deny\"", want: func(c *Config) { c.Attach.Clipboard = "deny" }},
		{name: "clipboard asks", in: "[attach]\nclipboard = \"ask\"", want: func(c *Config) { c.Attach.Clipboard = "ask" }},
		{name: "clipboard otherwise", in: "[attach]\nclipboard = \"maybe\"", wantErr: "attach.clipboard is \"maybe\": it must be allow, ask or deny"},
		{name: "sessions' clipboard", in: "[terminal]\nclipboard = \"deny\"", want: func(c *Config) { c.Terminal.Clipboard = "deny" }},
		{name: "sessions' clipboard otherwise", in: "[terminal]\nclipboard = \"\"", wantErr: "terminal.clipboard is \"\": it must be allow, ask or deny"},
		{name: "workspaces", in: `workspaces = "repository"`, want: func(c *Config) { c.Workspaces = "repository" }},
		{name: "workspaces in a directory", in: "workspaces = '" + bigWork + "'", want: func(c *Config) { c.Workspaces = Place(bigWork) }},
		{name: "workspaces elsewhere", in: `workspaces = "work"`, wantErr: "must be data, repository or an absolute path"},
		{name: "misspelt", in: "\nlissen = \"x\"", wantErr: `line 2: there is no setting "lissen"`},
		{name: "not TOML", in: "listen =", wantErr: "line 1"},
		{name: "backend", in: `backend = "screen"`, wantErr: "must be auto, tmux or pty-owner"},
		{name: "switch", in: "[attach]\nswitch = \"ctrl-g\"", want: func(c *Config) { c.Attach.Switch = "ctrl-g" }},
		{name: "no switch", in: "[attach]\nswitch = \"none\"", want: func(c *Config) { c.Attach.Switch = "none" }},
		{name: "switch key", in: "[attach]\nswitch = \"alt-x\"", wantErr: `attach.switch is "alt-x"`},
		{name: "one key for two", in: "[attach]\ndetach = \"ctrl-]\"", wantErr: "choose another key"},
		{name: "detach key", in: "[attach]\ndetach = \"alt-x\"", wantErr: `"alt-x"`},
		{name: "history", in: "[terminal]\nhistory_lines = 77", want: func(c *Config) { c.Terminal.HistoryLines = 77 }},
		{name: "no history", in: "[terminal]\nhistory_lines = 0", wantErr: "history_lines is 0"},
		{name: "ports", in: "[ports]\nfirst = 3000\nlast = 3999\ncount = 0", want: func(c *Config) { c.Ports = Ports{3000, 3999, 0} }},
		{name: "privileged ports", in: "[ports]\nfirst = 80", wantErr: "within 1024 to 65535"},
		{name: "ports backwards", in: "[ports]\nfirst = 30000", wantErr: "30000 and 29999"},
		{name: "more ports than there are", in: "[ports]\nfirst = 29995", wantErr: "0 (none) to 5"},
		{name: "time for setup", in: "[setup]\ntimeout = \"1h\"", want: func(c *Config) { c.Setup.Timeout = Duration(time.Hour) }},
		{name: "setup's time in other words", in: "[setup]\ntimeout = \"soon\"", wantErr: `line 2: setup.timeout: "soon" is no duration such as 5s or 1m30s`},
		{name: "setup's time as a list", in: "[setup]\ntimeout = [1]", wantErr: "line 2: setup.timeout is a list: it must be a string"},
		{name: "a profile's switch as text", in: "[profiles.claude]\napprovals = \"yes\"", wantErr: "line 2: profiles.claude.approvals is a string: it must be true or false"},
		{name: "no time for setup", in: "[setup]\ntimeout = \"0s\"", wantErr: "setup.timeout is 0"},
		{name: "encrypted", in: "hosts = [\"box\"]\n[tls]\nlocal = true", want: func(c *Config) { c.Hosts, c.TLS.Local = []string{"box"}, true }},
		{name: "certificate without a key", in: "[tls]\ncert = \"c.pem\"", wantErr: "go together"},
		{name: "two certificates", in: "[tls]\nlocal = true\ncert = \"c.pem\"\nkey = \"k.pem\"", wantErr: "either"},
		{name: "environment", in: "[env]\nforward = [\"PATH\", \"LC_*\"]\ndeny = [\"LC_X?\", \"[A-C]_KEY\"]\nssh_agent_link = false\n[shell]\nlogin = true",
			want: func(c *Config) {
				c.Env = Env{Forward: []string{"PATH", "LC_*"}, Deny: []string{"LC_X?", "[A-C]_KEY"}}
				c.Shell.Login = true
			}},
		{name: "bad pattern", in: "[env]\ndeny = [\"A\", \"[a-\"]", wantErr: `env.deny has "[a-": it must be the name of a variable, or a pattern such as "AWS_*"`},
		{name: "empty pattern", in: "[env]\nforward = [\"\"]", wantErr: `env.forward has ""`},
		{name: "variable with a value", in: "[env]\ndeny = [\"A=b\"]", wantErr: `env.deny has "A=b"`},
		{name: "no list", in: "[env]\ndeny = \"A\"", wantErr: "line 2"},
		{name: "transcripts", in: "[transcripts]\nkeep = \"500MiB\"", want: func(c *Config) { c.Transcripts.Keep = 500 << 20 }},
		{name: "transcripts in bytes", in: "[transcripts]\nkeep = 4096", want: func(c *Config) { c.Transcripts.Keep = 4096 }},
		{name: "no transcripts", in: "[transcripts]\nkeep = \"none\"", want: func(c *Config) { c.Transcripts.Keep = 0 }},
		{name: "all transcripts", in: "[transcripts]\nkeep = \"all\"", want: func(c *Config) { c.Transcripts.Keep = keepAll }},
		{name: "some transcripts", in: "[transcripts]\nkeep = \"some\"", wantErr: "line 2: transcripts.keep: want none, all or a size"},
		{name: "least limits", in: "[sandbox]\nmemory = \"256MiB\"\nfile_size = \"1MiB\"\nprocesses = 64",
			want: func(c *Config) { c.Sandbox.Memory, c.Sandbox.FileSize, c.Sandbox.Processes = 256<<20, 1<<20, 64 }},
		{name: "a few bytes", in: "[sandbox]\nmemory = \"100\"", wantErr: "sandbox.memory is 100: it must be none, or at least 256MiB"},
		{name: "files of a few bytes", in: "[sandbox]\nfile_size = \"1KiB\"", wantErr: "sandbox.file_size is 1KiB: it must be none, or at least 1MiB"},
		{name: "a few processes", in: "[sandbox]\nprocesses = 2", wantErr: "sandbox.processes is 2: it must be 0 (no bound), or at least 64"},
		{name: "watch", in: "[watch]\ndirectories = 100\nper_workspace = 10", want: func(c *Config) { c.Watch = Watch{Directories: 100, PerWorkspace: 10} }},
		{name: "watch nothing", in: "[watch]\ndirectories = 0", want: func(c *Config) { c.Watch.Directories = 0 }},
		{name: "negative watch", in: "[watch]\nper_workspace = -1", wantErr: "watch.per_workspace -1"},
		{name: "negative transcripts", in: "[transcripts]\nkeep = -2", wantErr: "transcripts.keep is -2"},
		{name: "negative", in: "[terminal]\njournal_bytes = -1", wantErr: "journal_bytes is -1"},
		{name: "negative grace", in: "[terminal]\ngrace = \"-1s\"", wantErr: "negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.toml")
			if err := os.WriteFile(path, []byte(tt.in), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Load(path)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) || strings.Contains(err.Error(), "\n") {
					t.Fatalf("error %q, want one line with %q", err, tt.wantErr)
				}
				return
			}
			want := Default()
			if tt.want != nil {
				tt.want(&want)
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

func TestLoadWithoutFile(t *testing.T) {
	if got, err := Load(filepath.Join(t.TempDir(), "none.toml")); err != nil || !reflect.DeepEqual(got, Default()) {
		t.Errorf("got %+v, %v, want the defaults", got, err)
	}
}

// What cannot be settings is refused before it is read whole.
func TestLoadRefusesHugeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("%v", err)
	}
}

func TestDetachByte(t *testing.T) {
	for key, want := range map[string]byte{`ctrl-\`: 0x1c, "ctrl-a": 1, "Ctrl-Z": 26, "ctrl-]": 0x1d} {
		if got, err := (Attach{Detach: key}).DetachByte(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#x, %v, want %#x", key, got, err, want)
		}
	}
	for _, key := range []string{"", "ctrl-", "ctrl-1", "a", "ctrl-ab"} {
		if _, err := (Attach{Detach: key}).DetachByte(); err == nil {
			t.Errorf("%q: no error", key)
		}
	}
}

func TestDirsWithoutHome(t *testing.T) {
	for _, name := range []string{"HOME", "USERPROFILE", "MIDDLEMAN_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
	}
	if d, err := FindDirs(); err == nil {
		t.Errorf("got %+v", d)
	}
	t.Setenv("MIDDLEMAN_HOME", t.TempDir())
	if _, err := FindDirs(); err != nil {
		t.Error(err)
	}
}
