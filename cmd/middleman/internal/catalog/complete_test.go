package catalog

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestShortRef(t *testing.T) {
	for _, tt := range []struct{ ref, local, any string }{
		{"refs/heads/feature/x", "feature/x", "feature/x"},
		{"refs/remotes/origin/feature/x", "feature/x", "origin/feature/x"},
		{"refs/remotes/origin/HEAD", "", ""},
		{"refs/tags/v1", "", "v1"},
		{"refs/stash", "", ""},
	} {
		if got := shortRef(tt.ref, true); got != tt.local {
			t.Errorf("%s as a branch: %q, want %q", tt.ref, got, tt.local)
		}
		if got := shortRef(tt.ref, false); got != tt.any {
			t.Errorf("%s: %q, want %q", tt.ref, got, tt.any)
		}
	}
}

// The usage tells arguments from the values of flags.
func TestTakes(t *testing.T) {
	for use, want := range map[string]string{
		"attach [TARGET | -] [--takeover]":       "TARGET",
		"rm WORKSPACE... [-n]":                   "WORKSPACE",
		"create NAME [--session TARGET]":         "",
		"ls [--all] | ls --workers [TARGET]":     "TARGET",
		"diff [WORKSPACE] [--stat] [-- PATH...]": "WORKSPACE PATH",
		"import [PATH...] [-n]":                  "PATH",
	} {
		var got []string
		for _, argument := range []string{"TARGET", "WORKSPACE", "PATH"} {
			if takes(&cobra.Command{Use: use}, argument) {
				got = append(got, argument)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q takes %q, want %q", use, got, want)
		}
	}
}
