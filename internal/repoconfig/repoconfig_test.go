package repoconfig

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"middleman/internal/agent"
)

func TestParse(t *testing.T) {
	four := 4
	for _, tt := range []struct {
		name, in string
		want     Config
		wantErr  string
	}{
		{name: "empty"},
		{name: "all", in: `
setup = ["npm ci", "make db"]
teardown = ["make drop-db"]
copy = [".env", "/certs/*.pem"]
ports = 4
[env]
DATABASE = "dev"
[profiles.agent]
command = ["claude"]
resume = ["claude", "--continue"]
env = ["ANTHROPIC_API_KEY"]
sandbox = "workspace"
grace = "10s"
`, want: Config{
			Setup: []string{"npm ci", "make db"}, Teardown: []string{"make drop-db"}, Copy: []string{".env", "/certs/*.pem"}, Ports: &four,
			Env: map[string]string{"DATABASE": "dev"},
			Profiles: map[string]agent.Definition{"agent": {
				Command: []string{"claude"}, Resume: []string{"claude", "--continue"}, Env: []string{"ANTHROPIC_API_KEY"}, Sandbox: "workspace", Grace: "10s",
			}},
		}},
		{name: "not TOML", in: "setup =", wantErr: "line 1"},
		{name: "misspelt", in: "\n\nsetpu = []", wantErr: `line 3: there is no setting "setpu"`},
		{name: "misspelt in a profile", in: "[profiles.a]\ncommand = [\"a\"]\nshell = 1", wantErr: `line 3: there is no setting "profiles.a.shell"`},
		{name: "a command of words", in: `setup = [["npm", "ci"]]`, wantErr: "line 1"},
		{name: "one command", in: `setup = "npm ci"`, wantErr: "line 1"},
		{name: "an empty command", in: `setup = [" "]`, wantErr: `setup: " " is empty`},
		{name: "NUL", in: `teardown = ["a\u0000b"]`, wantErr: "teardown"},
		{name: "many", in: "setup = [" + strings.Repeat(`"true",`, 101) + "]", wantErr: "setup: more than 100"},
		{name: "above", in: `copy = ["../../.."]`, wantErr: `copy: "../../.."`},
		{name: "above, by a detour", in: `copy = ["a/../../b"]`, wantErr: "only files of the checkout"},
		{name: "two lines", in: `copy = ["a\nb"]`, wantErr: "more than one line"},
		{name: "dots that are a name", in: `copy = ["a..b", "..."]`, want: Config{Copy: []string{"a..b", "..."}}},
		{name: "ports", in: "ports = -1", wantErr: "ports is -1"},
		{name: "too many ports", in: "ports = 1001", wantErr: "0 to 1000"},
		{name: "our variable", in: "[env]\nMIDDLEMAN_TOKEN = \"x\"", wantErr: `"MIDDLEMAN_TOKEN" cannot be set`},
		{name: "no variable", in: "[env]\n\"A=B\" = \"x\"", wantErr: `"A=B" cannot be set`},
		{name: "a profile without a command", in: "[profiles.a]\nsandbox = \"none\"", wantErr: "profiles.a: command is missing"},
		{name: "a profile's name", in: "[profiles.\"a b\"]\ncommand = [\"a\"]", wantErr: `"a b" is not a valid name`},
		{name: "a profile's sandbox", in: "[profiles.a]\ncommand = [\"a\"]\nsandbox = \"off\"", wantErr: `sandbox is "off"`},
		{name: "a profile's grace", in: "[profiles.a]\ncommand = [\"a\"]\ngrace = \"soon\"", wantErr: `grace is "soon"`},
		{name: "a built-in profile", in: "[profiles.claude]\ncommand = [\"a\"]", wantErr: `"claude" is a built-in profile`},
		{name: "a profile's variables", in: "[profiles.a]\ncommand = [\"a\"]\nenv = [\"A B\"]", wantErr: `"A B" is not a valid name`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse([]byte(tt.in))
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), Name) {
					t.Fatalf("error %q, want one line with %q", err, tt.wantErr)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
}

func TestHash(t *testing.T) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if got := Hash(nil); got != empty {
		t.Error(got)
	}
	if Hash([]byte("a")) == Hash([]byte("a\n")) {
		t.Error("a line break does not matter")
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, Name)
	if content, err := Read(dir); content != nil || err != nil {
		t.Errorf("none: %q, %v", content, err)
	}
	for _, in := range []string{"", "ports = 1\n", strings.Repeat("#", maxSize)} {
		if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		if content, err := Read(dir); content == nil || string(content) != in || err != nil {
			t.Errorf("%d bytes: %d, %v", len(in), len(content), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("setup = [\"a\"]\n[env]\nA = \"b\"\n"))
	f.Add([]byte("[profiles.a]\ncommand = [\"a\"]"))
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := Parse(content)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of several lines: %q", err)
		}
		for _, pattern := range c.Copy {
			if checkPattern(pattern) != nil {
				t.Errorf("pattern %q passed", pattern)
			}
		}
	})
}
