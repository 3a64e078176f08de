//go:build unix

package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/git"
	"middleman/internal/testenv"
)

// Who agrees to a repository's programs does not agree to files of others that its
// configuration includes.
func TestConsentIsToOwnFiles(t *testing.T) {
	r := testenv.NewRepo(t)
	testenv.UseGitEnv(t, r.Home)
	common := filepath.Join(r.Dir, ".git")
	p := git.Dirs{GitDir: common, CommonDir: common, WorkTree: r.Dir}
	theirs, own := filepath.Join(r.Home, "theirs"), filepath.Join(r.Home, "own")
	write(r, theirs, "[filter \"x\"]\n\tsmudge = cat\n")
	if err := os.Chmod(theirs, 0o666); err != nil {
		t.Fatal(err)
	}
	const none = "[core]\n\trepositoryformatversion = 0\n"
	for _, x := range []struct {
		name, config, worktree, own string
		refused                     bool
	}{
		{name: "nothing"},
		{name: "one's own", config: "[include]\n\tpath = " + own + "\n", own: "[core]\n\tabbrev = 9\n"},
		{name: "a file of the checkout", config: "[include]\n\tpath = ../.gitsettings\n"},
		{name: "a missing file", config: "[include]\n\tpath = " + own + "x\n"},
		{name: "what git ignores", config: "[include \"\"]\n\tpath = " + theirs + "\n"},
		{name: "itself again", config: "[includeIf \"onbranch:none\"]\n\tpath = config\n"},
		{name: "another's", config: "[include]\n\tpath = " + theirs + "\n", refused: true},
		{name: "another's, by git's prefix", config: "[include]\n\tpath = %(prefix)/" + theirs + "\n", refused: true},
		{name: "another's, on a condition", config: "[includeIf \"onbranch:none\"]\n\tpath = " + theirs + "\n", refused: true},
		{name: "another's, by one's own", config: "[include]\n\tpath = ~/own\n", own: "[include]\n\tpath = theirs\n", refused: true},
		{name: "another's, for the worktree", worktree: "[include]\n\tpath = " + theirs + "\n", refused: true},
	} {
		r.Write(".gitsettings", "[core]\n\tabbrev = 9\n")
		for path, text := range map[string]string{filepath.Join(common, "config"): none + x.config, filepath.Join(common, "config.worktree"): x.worktree, own: x.own} {
			write(r, path, text)
		}
		_, err := git.ConsentedTransport(t.Context(), p, true)
		if (err != nil) != x.refused || err != nil && (!strings.Contains(err.Error(), theirs) || !strings.Contains(err.Error(), "keep a copy of your own")) {
			t.Errorf("%s: %v, want refused: %t", x.name, err, x.refused)
		}
		if _, err := git.ConsentedTransport(t.Context(), p, false); err != nil {
			t.Errorf("%s, without consent: %v", x.name, err)
		}
	}
}

// A configuration that is another user's file, or a link to one, is refused too. In a
// directory that others may write it is theirs as well, and the user knows.
func TestConsentIsToOwnConfiguration(t *testing.T) {
	r := testenv.NewRepo(t)
	testenv.UseGitEnv(t, r.Home)
	common := filepath.Join(r.Dir, ".git")
	theirs := filepath.Join(r.Home, "theirs")
	text, err := os.ReadFile(filepath.Join(common, "config"))
	if err := errors.Join(err, os.WriteFile(theirs, text, 0o600), os.Chmod(theirs, 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config.worktree", "config"} {
		at := filepath.Join(common, name)
		if err := errors.Join(os.RemoveAll(at), os.Symlink(theirs, at)); err != nil {
			t.Fatal(err)
		}
		if _, err := git.ConsentedTransport(t.Context(), git.Dirs{GitDir: common, CommonDir: common, WorkTree: r.Dir}, true); err == nil || !strings.Contains(err.Error(), "put a copy of your own there") {
			t.Errorf("%s: %v", name, err)
		}
		if err := errors.Join(os.Remove(at), os.WriteFile(at, text, 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := git.ConsentedTransport(t.Context(), git.Dirs{GitDir: common, CommonDir: common, WorkTree: r.Dir}, true); err != nil {
			t.Errorf("one's own %s: %v", name, err)
		}
	}
	if err := errors.Join(os.Chmod(common, 0o777), os.Chmod(filepath.Join(common, "config"), 0o666)); err != nil {
		t.Fatal(err)
	}
	if _, err := git.ConsentedTransport(t.Context(), git.Dirs{GitDir: common, CommonDir: common, WorkTree: r.Dir}, true); err != nil {
		t.Errorf("a shared one: %v", err)
	}
}
