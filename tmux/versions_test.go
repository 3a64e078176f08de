//go:build unix

package tmux

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"middleman/terminal/vt"
)

// recorded returns what a real tmux of each version printed for our formats,
// by section.
func recorded(t *testing.T) map[string]map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 8 {
		t.Fatalf("recorded versions: %q, %v", files, err)
	}
	all := map[string]map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sections := map[string]string{}
		for part := range strings.SplitSeq("\n"+string(b), "\n-- ") {
			name, text, _ := strings.Cut(part, " --\n")
			sections[name] = text
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = sections
	}
	return all
}

// TestEveryVersionIsParsed: a pane whose title has a tab and looks like our
// format, its read-only client, the user's pane beside it, a sibling session
// whose name begins as its own, marks, and a screen with a tab, line drawing, wide characters and a hidden cursor.
func TestEveryVersionIsParsed(t *testing.T) {
	const id = "s0123456789abcdef"
	const title = "ab P " + id + " 9 9 é"
	for name, out := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			v, err := parseVersion(out["version"])
			if err != nil || !v.atLeast(oldest) || !strings.HasPrefix(name, v.String()) {
				t.Errorf("version %v, %v", v, err)
			}
			p, ok := parsePane(out["panes"], id)
			if !ok || p.title != title || p.size.Cols != 80 || p.size.Rows < 24 || p.size.Rows > 25 || p.target != (target{"%0", id}) || p.writer != "7b7d" || len(p.clients) != 1 || !p.clients[0].readOnly ||
				p.clients[0].pid == 0 || !strings.HasPrefix(p.clients[0].tty, "/dev/pts/") {
				t.Errorf("pane %+v, %v", p, ok)
			}
			if p, ok := parsePane(out["panes"], id+"x"); ok {
				t.Errorf("a pane without an id was taken for the sibling's: %+v", p)
			}
			marks := parseMarks(out["marks"])
			if want := []marked{{target{"%0", id}, "/data dir/sessions/" + id}}; !reflect.DeepEqual(marks, want) {
				t.Errorf("marks %q, want %q", marks, want)
			}
			screen, err := parseScreen(out["screen"])
			if err != nil {
				t.Fatal(err)
			}
			want := "scrolled\n1\n2\n3\nplain   tab\nbold red rgb\n┌─┐ 日本語 \u00a0."
			if got := strings.TrimRight(screen.Text(vt.TextOptions{}), "\n"); got != want {
				t.Errorf("screen %q, want %q", got, want)
			}
			if f := screen.Cells(); f.Title != title || f.Cursor.Visible || f.Cursor.Row != 7 {
				t.Errorf("title %q, cursor %+v", f.Title, f.Cursor)
			}
		})
	}
}

// TestFeaturesByVersion: the table is what the tmux that is here does.
func TestFeaturesByVersion(t *testing.T) {
	b := newBackend(t)
	start(t, b, "read x")
	srv := server{tmux: "tmux", socket: b.socket()}
	v, err := srv.version(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for f, x := range features {
		if x.goes == "" {
			t.Errorf("feature %d does not say what goes without it", f)
		}
		has := false
		switch {
		case x.option != "":
			for _, scope := range []string{"-gs", "-gw"} {
				_, err := srv.run(testContext(t), nil, "show-options", scope, x.option)
				has = has || err == nil
			}
		default:
			for line := range strings.Lines(command(t, b, "list-commands")) {
				if usage, ok := strings.CutPrefix(line, "paste-buffer "); ok {
					flags, _, _ := strings.Cut(usage, "]")
					has = strings.Contains(flags, "S")
				}
			}
		}
		if has != v.has(f) {
			t.Errorf("version %v: feature %d (%s since %v) is %v", v, f, x.option, x.since, has)
		}
	}
}
