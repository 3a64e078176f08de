package tomlfile

import (
	"fmt"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"name = \"x\"\n", ""},
		{"\ufeffname = \"x\"\n", ""},
		{"\xff\xfen\x00a\x00", "it is in UTF-16: save it as UTF-8"},
		{"\xfe\xff\x00n\x00a", "it is in UTF-16: save it as UTF-8"},
		{"name = \"C:\\Users\\x\"\n", "line 1: invalid hexadecimal digit in unicode escape sequence: in \"...\" a backslash begins an escape"},
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

// even is a number that is written as text.
type even int

func (e *even) UnmarshalText(text []byte) error { return fmt.Errorf("%q is not even", text) }

// A value of a wrong type is told by its key, and in no words of Go.
func TestDecodeNamesTypes(t *testing.T) {
	type table struct {
		On    bool              `toml:"on"`
		Maybe *bool             `toml:"maybe"`
		List  []string          `toml:"list"`
		Map   map[string]string `toml:"map"`
		Even  even              `toml:"even"`
		Count uint16            `toml:"count"`
		Size  int64             `toml:"size"`
	}
	for _, tt := range []struct{ in, want string }{
		{"[p.x]\non = \"x\"", "line 2: p.x.on is a string: it must be true or false"},
		{"[p.x]\nmaybe = 1", "line 2: p.x.maybe is an integer: it must be true or false"},
		{"p.\"a b\".on = 1", `line 1: p."a b".on is an integer: it must be true or false`},
		{"[p.x]\nlist = \"x\"", "line 2: p.x.list is a string: it must be a list"},
		{"[p.x]\nlist = [1]", "line 2: p.x.list has an integer: each must be a string"},
		{"[p.x]\nmap = 1", "line 2: p.x.map is an integer: it must be a table"},
		{"[p.x]\nmap = {a = 1}", "line 2: p.x.map has an integer: each must be a string"},
		{"[p.x]\neven = \"3\"", `line 2: p.x.even: "3" is not even`},
		{"[p.x]\neven = [3]", "line 2: p.x.even is a list: it must be a string"},
		{"[p.x]\ncount = -1", "line 2: p.x.count is -1: it must be an integer from 0 to 65535"},
		{"[p.x]\ncount = 70000", "line 2: p.x.count is 70000: it must be an integer from 0 to 65535"},
		{"[p.x]\ncount = true", "line 2: p.x.count is true or false: it must be an integer from 0 to 65535"},
		{"[p.x]\nsize = 1.5", "line 2: p.x.size is a number with a fraction: it must be an integer"},
		{"[p.x]\nsize = 2026-01-01", "line 2: p.x.size is a date: it must be an integer"},
		{"[p.x.size]\na = 1", "line 1: p.x.size is a table: it must be an integer"},
		{"[p.x]\non.y.z = 1", "line 2: p.x.on is a table: it must be true or false"},
		{"name = {}", "line 1: name is a table: it must be a string"},
		{"p = 1", "line 1: p is an integer: it must be a table"},
		{"p.x = \"y\"", "line 1: p.x is a string: it must be a table"},
		{"[[p]]\non = true", "line 1: p is a list of tables: it must be a table"},
		{"[[all]]\non = true\n[[all]]\non = 0", "line 4: all.on is an integer: it must be true or false"},
		{"[p.x]\non = tru", "line 2: expected keyword \"true\""},
		{"[p.x]\non = true\ncount = 65535\nlist = []\nmap = {}\nsize = -1", ""},
	} {
		var v struct {
			Name string           `toml:"name"`
			P    map[string]table `toml:"p"`
			All  []table          `toml:"all"`
		}
		text := ""
		if err := Decode([]byte(tt.in), &v, ""); err != nil {
			text = err.Error()
		}
		if text != tt.want {
			t.Errorf("%q: %s, want %s", tt.in, text, tt.want)
		}
	}
}
