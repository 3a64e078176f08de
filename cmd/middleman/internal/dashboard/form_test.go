package dashboard

import (
	"os"
	"path/filepath"
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
