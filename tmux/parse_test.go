//go:build unix

package tmux

import (
	"reflect"
	"strings"
	"testing"

	"middleman/terminal"
	"middleman/terminal/vt"
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

// TestTmux36PrintsTabsAnew: no field of our formats is told from the next by a
// control character, which versions print differently, and a title may hold
// anything that looks like a field.
func TestTmux36PrintsTabsAnew(t *testing.T) {
	for _, f := range []string{paneFormat, clientFormat, screenFormat} {
		if strings.ContainsFunc(f, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("format %q has a character that is not printable ASCII", f)
		}
	}
	const id = "s0123456789abcdef"
	out := "P %1 $1 " + id + "x  1 2 sibling\n" +
		"P %2 $2 " + id + " 7b7d 80 24 a\\011b P " + id + " 9 9 \tx\n" +
		"P %3 $2   10 10 the user's pane\n" +
		"C $1 4 0 /dev/pts/9\n" +
		"C $2 5 0 /dev/pts/1\n" +
		"C $2 6 1 /dev/pts/2\n" +
		"garbage\nP %4 $4 " + id + "  x y z\n"
	got, ok := parsePane(out, id)
	want := pane{
		target: target{"%2", id}, session: "$2", writer: "7b7d",
		size: terminal.Size{Cols: 80, Rows: 24}, title: "a\\011b P " + id + " 9 9 \tx",
		clients: []client{{"/dev/pts/1", 5, false}, {"/dev/pts/2", 6, true}},
	}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, ok := parsePane(out, "s0123456789abcde"); ok {
		t.Error("a prefix of a name was found")
	}
	if p, ok := parsePane("P %2 $2 "+id+"  80 24 \n", id); !ok || p.title != "" {
		t.Errorf("a pane without a title: %+v, %v", p, ok)
	}
}

func TestParseScreen(t *testing.T) {
	s, err := parseScreen("10 3 4 1 0 0 a title\nscrolled\n\x1b[31mone\x1b[39m\n\x0eqq\x0f two\n\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Text(vt.TextOptions{}), "one\n── two\n\n"; strings.TrimRight(got, "\n") != strings.TrimRight(want, "\n") {
		t.Errorf("screen %q, want %q", got, want)
	}
	if got := s.Text(textWithScrollback); !strings.HasPrefix(got, "scrolled\none\n") {
		t.Errorf("with scrollback %q", got)
	}
	f := s.Cells()
	if f.Cursor.Col != 4 || f.Cursor.Row != 1 || f.Cursor.Visible || f.Title != "a title" {
		t.Errorf("cursor %+v, title %q", f.Cursor, f.Title)
	}
	for _, in := range []string{"", "1 2 3\n", "a b c d e f g\n"} {
		if _, err := parseScreen(in); err == nil {
			t.Errorf("%q was taken for a screen", in)
		}
	}
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
