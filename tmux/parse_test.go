//go:build unix

package tmux

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want version
		ok   bool // 3.0 or newer
	}{
		{"tmux 3.0\n", version{3, 0}, true},
		{"tmux 3.0a\n", version{3, 0}, true},
		{"tmux 3.3a\n", version{3, 3}, true},
		{"tmux 3.2-rc3\n", version{3, 2}, true},
		{"tmux 3.10b\n", version{3, 10}, true},
		{"tmux next-3.6\n", version{3, 6}, true},
		{"tmux master\n", version{1 << 16, 0}, true},
		{"tmux openbsd-7.5\n", version{1 << 16, 0}, true},
		{"tmux 2.9a\n", version{2, 9}, false},
		{"tmux 1.8\n", version{1, 8}, false},
	} {
		got, err := parseVersion(tt.in)
		if err != nil || got != tt.want || got.atLeast(oldest) != tt.ok {
			t.Errorf("%q: %v, %v, want %v", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{"", "tmux", "tmux x.y\n", "screen\n"} {
		if v, err := parseVersion(in); err == nil {
			t.Errorf("%q: version %v", in, v)
		}
	}
}

// A mark may have spaces, and no format of ours has a character that versions
// print differently.
func TestParseMarks(t *testing.T) {
	if strings.ContainsFunc(markFormat, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("format %q has a character that is not printable ASCII", markFormat)
	}
	out := "%0 sa /data dir/sa\n%1  \n%2  /data/sa\n%3 sb \ngarbage\n\n%4 sc /x"
	want := []marked{{"%0", "sa", "/data dir/sa"}, {"%3", "sb", ""}, {"%4", "sc", "/x"}}
	if got := parseMarks(out); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzParseMarks: what was taken for marks is in the text, as it is printed.
func FuzzParseMarks(f *testing.F) {
	f.Add("%0 sa /data dir/sa\n%1  \n")
	f.Add("%0 sa")
	f.Fuzz(func(t *testing.T, out string) {
		rest := out
		for _, m := range parseMarks(out) {
			line := m.pane + " " + m.id + " " + m.owner
			_, after, ok := strings.Cut(rest, line)
			if !ok || m.id == "" || strings.ContainsAny(line, "\n") || strings.ContainsAny(m.pane+m.id, " ") {
				t.Fatalf("%q of %q", m, out)
			}
			rest = after
		}
	})
}

func TestCutPaneID(t *testing.T) {
	for _, tt := range []struct {
		name, in, said string
		want           paneID
	}{
		{"alone", "%12 77\n", "", paneID{"%12", 77}},
		{"something after", "%0 1\n/data\nsa\n", "", paneID{"%0", 1}},
		{"said before", "tmux.conf:1: x\n%\n%1x\n% 1\n%2\n%2 -1\n%2 1 1\n%3 5\nm\n", "tmux.conf:1: x\n%\n%1x\n% 1\n%2\n%2 -1\n%2 1 1\n", paneID{"%3", 5}},
		{"the first", "%1 2\n%2 2\n", "", paneID{"%1", 2}},
		{"without its newline", "%1 2", "", paneID{"%1", 2}},
		{"no process id", "%1 99999999999999999999\n", "%1 99999999999999999999\n", paneID{}},
		{"none", "no server\n", "no server\n", paneID{}},
		{"nothing", "", "", paneID{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if said, pane := cutPaneID(tt.in); said != tt.said || pane != tt.want {
				t.Errorf("%q, %v, want %q, %v", said, pane, tt.said, tt.want)
			}
		})
	}
}

// FuzzCutPaneID: the parts are there as they are returned.
func FuzzCutPaneID(f *testing.F) {
	f.Add("x\n%1 2\nmark\n")
	f.Add("%1 02")
	f.Fuzz(func(t *testing.T, out string) {
		said, pane := cutPaneID(out)
		if pane.id == "" {
			if said != out {
				t.Errorf("%q of %q", said, out)
			}
			return
		}
		line, _, _ := strings.Cut(strings.TrimPrefix(out, said), "\n")
		id, server, _ := strings.Cut(line, " ")
		if n, err := strconv.Atoi(server); !strings.HasPrefix(out, said) || id != pane.id || err != nil || n != pane.server {
			t.Errorf("%q, %v of %q", said, pane, out)
		}
		if _, before := cutPaneID(said); before.id != "" || len(pane.id) < 2 || pane.id[0] != '%' {
			t.Errorf("%v in %q", pane, out)
		}
	})
}

// FuzzParseVersion: a version is older or newer than 3.0, whatever is printed.
func FuzzParseVersion(f *testing.F) {
	for _, in := range []string{"tmux 3.3a\n", "tmux next-3.6\n", "tmux master", "tmux 3.", "tmux -1.-2"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		v, err := parseVersion(in)
		if err != nil {
			return
		}
		if again, err := parseVersion("tmux " + v.String()); err != nil || again != v {
			t.Errorf("%q is %v, and that %v, %v", in, v, again, err)
		}
	})
}

func TestQuote(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{quote(`a b"c\d$e`), `"a b\"c\\d\$e"`},
		{shellQuote(`it's`), `'it'\''s'`},
		{formatQuote("#{x} 100%"), "##{x} 100%%"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
}
