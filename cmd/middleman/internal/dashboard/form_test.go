package dashboard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/cmd/middleman/internal/cli"
)

// A new workspace is made of the repository that the user stands in, known or not.
func TestStartDirectory(t *testing.T) {
	repository, elsewhere := t.TempDir(), t.TempDir()
	below := filepath.Join(repository, "below")
	if err := os.MkdirAll(filepath.Join(repository, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	list := someList()
	for i := range list.Workspaces {
		list.Workspaces[i].Repository = "/selected"
	}
	for _, tt := range []struct{ name, here, want string }{
		{"in a listed repository", "/selected/below", "/selected/below"},
		{"in another repository", repository, repository},
		{"below another repository", below, below},
		{"in no repository", elsewhere, "/selected"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDashboard(t.Context(), &cli.CLI{}, nil, tt.here)
			d.takeList(listed{list: list, server: true})
			if got := d.startDirectory(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// A reason that does not fit its line is shown as a whole, above all its end.
func TestLongNote(t *testing.T) {
	const advice = "there is a workspace nn7 already in this repository: `middleman attach nn7` goes there, --suffix makes nn7-2"
	for _, tt := range []struct {
		name, note string
		rows, cols int
		want       []string // the last lines
	}{
		{"it fits", "made nn7", 24, 80, []string{"", "made nn7"}},
		{"two lines", advice, 24, 80, []string{"", "there is a workspace nn7 already in this repository: `middleman attach nn7`", "goes there, --suffix makes nn7-2"}},
		{"too long", strings.Repeat("word ", 60), 24, 80, []string{strings.TrimSpace(strings.Repeat("word ", 16)), strings.TrimSpace(strings.Repeat("word ", 16)), strings.Repeat("word ", 15) + "word…"}},
		{"a small screen", advice, 8, 80, []string{"", "there is a workspace nn7 already in this repository: `middleman attach nn7` goe…"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDashboard(t.Context(), &cli.CLI{}, nil, "/")
			d.cols, d.rows = tt.cols, tt.rows
			d.pane = newPage("Title", "text")
			d.note = tt.note
			lines := strings.Split(unstyled(d.View().Content), "\n")
			got := strings.Join(lines[len(lines)-len(tt.want):], "\n")
			if want := strings.Join(tt.want, "\n"); len(lines) != tt.rows || got != want {
				t.Errorf("%d lines, the last are\n%s\nwant\n%s", len(lines), got, want)
			}
		})
	}
}
