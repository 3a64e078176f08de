package tomlfile

import (
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"name = \"x\"\n", ""},
		{"name = 1\n", "line 1: "},
		{"\nname = \n", "line 2: "},
		{"name = \"x\"\n\nnmae = 1\n", `line 3: there is no setting "nmae"; see the manual`},
		{"[a]\nb = 1\n", `line 1: there is no setting "a"; see the manual`},
		{"\"\\u001b[2J\" = 1\n", `line 1: there is no setting "\x1b[2J"; see the manual`},
	} {
		var v struct{ Name string }
		err := Decode([]byte(tt.in), &v, "; see the manual")
		switch {
		case tt.want == "" && (err != nil || v.Name != "x"):
			t.Errorf("%q: %q, %v", tt.in, v.Name, err)
		case tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)):
			t.Errorf("%q: %v, want %s", tt.in, err, tt.want)
		}
	}
}

// Whatever a file holds, what is said of it is one line.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("name = \"x\"\n"))
	f.Add([]byte("a.\"\n\\u0007\" = 1"))
	f.Fuzz(func(t *testing.T, content []byte) {
		var v struct{ Name string }
		if err := Decode(content, &v, ""); err != nil && strings.ContainsAny(err.Error(), "\n\r\x1b\a") {
			t.Errorf("%q: %q", content, err)
		}
	})
}

// A misspelt key is told with the one that was meant.
func TestDecodeProposes(t *testing.T) {
	type table struct {
		Command []string `toml:"command"`
	}
	for _, tt := range []struct{ in, want string }{
		{"[profile.x]\ncommand = []\n", `line 1: there is no setting "profile.x"; did you mean profiles?`},
		{"[profiles.x]\ncomand = []\n", `line 2: there is no setting "profiles.x.comand"; did you mean profiles.x.command?`},
		{"[attach]\ndetatch = []\n", `line 2: there is no setting "attach.detatch"; did you mean attach.detach?`},
		{"backend.x = 1\n", `line 1: `},
		{"other = 1\n", `line 1: there is no setting "other"; see the manual`},
	} {
		var v struct {
			Backend  string           `toml:"backend"`
			Profiles map[string]table `toml:"profiles"`
			Attach   *struct {
				Detach string `toml:"detach"`
			} `toml:"attach"`
		}
		if err := Decode([]byte(tt.in), &v, "; see the manual"); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.in, err, tt.want)
		}
	}
}
