package environ

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestPass(t *testing.T) {
	all := Rules{Forward: []string{"*"}}
	for _, tt := range []struct {
		name     string
		rules    Rules
		in, want []string
		skipped  int
	}{
		{name: "nothing", rules: all},
		{name: "a shell's", rules: all,
			in:   []string{"HOME=/h", "GITHUB_TOKEN=t", "DISPLAY=:0", "SSH_AUTH_SOCK=/s", "XDG_RUNTIME_DIR=/run/user/1", "VIRTUAL_ENV=/v"},
			want: []string{"HOME=/h", "GITHUB_TOKEN=t", "DISPLAY=:0", "SSH_AUTH_SOCK=/s", "XDG_RUNTIME_DIR=/run/user/1", "VIRTUAL_ENV=/v"}},
		{name: "of the terminal and the login", rules: all,
			in: []string{"TERM=x", "COLORTERM=x", "TERM_PROGRAM=x", "TERM_PROGRAM_VERSION=x", "TMUX=x", "TMUX_PANE=x", "STY=x", "WINDOWID=1", "SSH_TTY=x", "SSH_CONNECTION=x", "SSH_CLIENT=x",
				"COLUMNS=1", "LINES=1", "SHLVL=1", "_=x", "PWD=/", "OLDPWD=/", "XDG_SESSION_ID=1", "VTE_VERSION=1", "WT_SESSION=1", "KITTY_PID=1", "ALACRITTY_LOG=x", "ITERM_SESSION_ID=1",
				"MIDDLEMAN_SESSION=s", "MIDDLEMAN_TOKEN=t", "LC_TERMINAL=x", "NOTIFY_SOCKET=/x",
				"GIT_DIR=/x/.git", "GIT_INDEX_FILE=/x/.git/index", "GIT_WORK_TREE=/x", "GIT_CONFIG_PARAMETERS='a=b'", "A=b"},
			want: []string{"A=b"}},
		{name: "no names, twice, functions, lines, bytes", rules: all,
			in:   []string{"odd", "=C:=x", "", "A=1", "B=\xff\xfe", "A=2", "C=a\nb", "BASH_FUNC_x%%=() {  :\n}", "D=", "a/b=c"},
			want: []string{"A=2", "B=\xff\xfe", "C=a\nb", "BASH_FUNC_x%%=() {  :\n}", "D=", "a/b=c"}, skipped: 3},
		{name: "denied", rules: Rules{Forward: []string{"*"}, Deny: []string{"AWS_*", "*_TOKEN", "X?"}},
			in:   []string{"AWS_SECRET_ACCESS_KEY=x", "AWS=y", "GITHUB_TOKEN=x", "X1=1", "X12=2"},
			want: []string{"AWS=y", "X12=2"}},
		{name: "some", rules: Rules{Forward: []string{"PATH", "LC_*", "TERM"}},
			in:   []string{"PATH=/bin", "LC_ALL=C", "HOME=/h", "TERM=x"},
			want: []string{"PATH=/bin", "LC_ALL=C"}},
		{name: "no rules", in: []string{"PATH=/bin"}},
	} {
		got, skipped := tt.rules.Pass(tt.in)
		if !slices.Equal(got, tt.want) || skipped != tt.skipped {
			t.Errorf("%s: %q, %d skipped, want %q, %d", tt.name, got, skipped, tt.want, tt.skipped)
		}
	}
}

func TestAllowed(t *testing.T) {
	in := []string{"HOME=/h", "LC_ALL=C", "LC_TERMINAL=iTerm2", "SSH_AUTH_SOCK=/s", "AWS_PROFILE=p", "MIDDLEMAN_HOME=/m", "PATH=/bin"}
	if got, want := Allowed(in), []string{"HOME=/h", "LC_ALL=C", "PATH=/bin"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCheck(t *testing.T) {
	many := make([]string, MaxVariables+1)
	for i := range many {
		many[i] = "A=b"
	}
	for _, tt := range []struct {
		name string
		in   []string
		want string
	}{
		{"none", nil, ""},
		{"odd bytes", []string{"A=\xff\n", "BASH_FUNC_x%%=() { :; }"}, ""},
		{"at the number", many[1:], ""},
		{"over the number", many, "4097 variables"},
		{"at the size", []string{"A=" + strings.Repeat("x", MaxBytes-3)}, ""},
		{"over the size", []string{"A=" + strings.Repeat("x", MaxBytes-2)}, "env.deny"},
		{"no name", []string{"=secret"}, "has no name"},
		{"no value", []string{"secret"}, "has no name"},
		{"NUL", []string{"A=secret\x00"}, `"A" contains NUL`},
	} {
		err := Check(tt.in)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has the value: %v", tt.name, err)
		}
	}
}

func TestEnvironment(t *testing.T) {
	var e Environment
	e.Set(Caller, "A=1", "B=1", "A=2")
	c := e.Clone()
	e.SetMissing(LoginShell, "A=3", "C=3")
	e.Set(Named, "B=4")
	if want := []string{"A=2", "C=3", "B=4"}; !slices.Equal(e.Entries(), want) {
		t.Errorf("%q, want %q", e.Entries(), want)
	}
	if want := map[string]string{"A": Caller, "B": Named, "C": LoginShell}; !maps.Equal(e.Sources(), want) {
		t.Errorf("%v, want %v", e.Sources(), want)
	}
	if c.Lookup("B") != "1" || c.Lookup("C") != "" || len(c.Sources()) != 2 {
		t.Errorf("the copy has changed: %q", c.Entries())
	}
}

// A program is told of UTF-8 where nothing else says which characters it has to use.
func TestSetCharacters(t *testing.T) {
	ours := utf8Locale()
	for given, want := range map[string]string{
		"":              ours,
		"LANG=":         ours,
		"LC_TIME=de_DE": ours,
		"LANG=C":        "",
		"LC_ALL=POSIX":  "",
		"LC_CTYPE=C":    "C",
		"LANG=de_DE":    "",
	} {
		var e Environment
		if given != "" {
			e.Set(Caller, given)
		}
		e.SetCharacters()
		if got := e.Lookup("LC_CTYPE"); got != want {
			t.Errorf("%q: LC_CTYPE=%s, want %s", given, got, want)
		}
	}
}

// The page that says why has each pattern, and no other in that table.
func TestPatternsAreExplained(t *testing.T) {
	page, err := os.ReadFile("../../docs/environment.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "## What is left out")
	if table, _, _ = strings.Cut(table, "\n## "); !found {
		t.Fatal("docs/environment.md has no table of what is left out")
	}
	var explained []string
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for i, word := range strings.Split(cells[2], "`") {
				if i%2 == 1 {
					explained = append(explained, word)
				}
			}
		}
	}
	want := slices.Sorted(slices.Values(callersOwn))
	if slices.Sort(explained); !slices.Equal(explained, want) {
		t.Errorf("docs/environment.md explains\n%q, the code leaves out\n%q", explained, want)
	}
}

// FuzzPass: what passes is of the input, once each, and passes again unchanged.
func FuzzPass(f *testing.F) {
	f.Add("A=b\x00TERM=x\x00=C:=\x00A=c", "*", "X_*")
	f.Add("BASH_FUNC_x%%=() {\n}\x00B=\xff", "[", "[a-")
	f.Fuzz(func(t *testing.T, environ, forward, deny string) {
		given := strings.Split(environ, "\x00")
		rules := Rules{Forward: []string{forward}, Deny: []string{deny}}
		passed, skipped := rules.Pass(given)
		if len(passed)+skipped > len(given) {
			t.Fatalf("%d passed and %d skipped of %d", len(passed), skipped, len(given))
		}
		names := map[string]bool{}
		for _, entry := range passed {
			name, _, ok := strings.Cut(entry, "=")
			if !ok || name == "" || names[name] || !slices.Contains(given, entry) || strings.HasPrefix(name, "MIDDLEMAN_") || name == "TERM" {
				t.Fatalf("%q passed of %q", entry, given)
			}
			names[name] = true
		}
		if again, none := rules.Pass(passed); !slices.Equal(again, passed) || none != 0 {
			t.Fatalf("%q passed, then %q", passed, again)
		}
		if err := Check(passed); err != nil && len(environ) < MaxBytes && len(passed) <= MaxVariables {
			t.Fatal(err)
		}
	})
}
