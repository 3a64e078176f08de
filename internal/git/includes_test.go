//go:build unix

package git_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/git"
	"middleman/internal/plainfile"
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

// Nor to a configuration that another user can change or replace: its file, a link to it, a
// directory above, the .git of the checkout.
func TestConsentIsToOwnConfiguration(t *testing.T) {
	const stranger = 1234
	place := func(name, text string, mode fs.FileMode) error {
		return errors.Join(os.RemoveAll(name), os.WriteFile(name, []byte(text), mode), os.Chmod(name, mode))
	}
	for _, x := range []struct {
		name    string
		set     func(r *testenv.Repo, p *git.Dirs) error
		refused string // the path that the error is about; "" is none
		root    bool   // is needed
	}{
		{name: "one's own", set: func(*testenv.Repo, *git.Dirs) error { return nil }},
		{name: "that others can read", set: func(r *testenv.Repo, p *git.Dirs) error {
			return errors.Join(os.Chmod(r.Dir, 0o755), os.Chmod(p.CommonDir, 0o755), os.Chmod(p.CommonDir+"/config", 0o644))
		}},
		{name: "in a sticky directory", set: func(r *testenv.Repo, _ *git.Dirs) error { return os.Chmod(r.Dir, 0o777|fs.ModeSticky) }},
		{name: "one's own link", set: func(r *testenv.Repo, p *git.Dirs) error {
			return errors.Join(os.Rename(p.CommonDir+"/config", r.Home+"/config"), os.Symlink(r.Home+"/config", p.CommonDir+"/config"))
		}},
		{name: "of the worktree", set: func(_ *testenv.Repo, p *git.Dirs) error { return place(p.GitDir+"/config.worktree", "", 0o600) }},
		{name: "bare, without a checkout", set: func(r *testenv.Repo, p *git.Dirs) error {
			*p = git.Whole(p.CommonDir)
			return nil
		}},
		{name: "a link to a file that others can write", refused: "/config", set: func(r *testenv.Repo, p *git.Dirs) error {
			return errors.Join(os.Remove(p.CommonDir+"/config"), place(r.Home+"/theirs", "", 0o666), os.Symlink(r.Home+"/theirs", p.CommonDir+"/config"))
		}},
		{name: "for worktrees, a link to a file that others can write", refused: "/config.worktree", set: func(r *testenv.Repo, p *git.Dirs) error {
			return errors.Join(place(r.Home+"/theirs", "", 0o666), os.Symlink(r.Home+"/theirs", p.CommonDir+"/config.worktree"))
		}},
		{name: "that others can write", refused: "/config", set: func(r *testenv.Repo, p *git.Dirs) error { return os.Chmod(p.CommonDir+"/config", 0o666) }},
		{name: "that a group can write", refused: "/config", root: true, set: func(r *testenv.Repo, p *git.Dirs) error {
			return errors.Join(os.Chown(p.CommonDir+"/config", -1, stranger), os.Chmod(p.CommonDir+"/config", 0o664))
		}},
		{name: "that others can replace", refused: "/config", set: func(r *testenv.Repo, p *git.Dirs) error { return os.Chmod(p.CommonDir, 0o777) }},
		{name: "of the worktree, that others can make", refused: "/config.worktree", set: func(r *testenv.Repo, p *git.Dirs) error { return os.Chmod(p.GitDir, 0o777) }},
		{name: "of a worktree that others can lead elsewhere", refused: "/commondir", set: func(_ *testenv.Repo, p *git.Dirs) error { return os.Chmod(p.GitDir+"/commondir", 0o666) }},
		{name: "of a checkout that others can replace", refused: "/.git", set: func(_ *testenv.Repo, p *git.Dirs) error { return os.Chmod(p.WorkTree, 0o777) }},
		{name: "another's file", refused: "/config", root: true, set: func(_ *testenv.Repo, p *git.Dirs) error { return os.Chown(p.CommonDir+"/config", stranger, -1) }},
		{name: "another's link to one's own", refused: "/config", root: true, set: func(r *testenv.Repo, p *git.Dirs) error {
			return errors.Join(os.Rename(p.CommonDir+"/config", r.Home+"/config"), os.Symlink(r.Home+"/config", p.CommonDir+"/config"), os.Lchown(p.CommonDir+"/config", stranger, -1))
		}},
		{name: "of a checkout by another's file", refused: "/.git", root: true, set: func(_ *testenv.Repo, p *git.Dirs) error { return os.Chown(p.WorkTree+"/.git", stranger, -1) }},
		{name: "of a checkout by another's link", refused: "/.git", root: true, set: func(r *testenv.Repo, p *git.Dirs) error {
			p.WorkTree, p.GitDir = r.Dir, p.CommonDir
			moved := r.Home + "/moved"
			return errors.Join(os.Rename(r.Dir+"/.git", moved), os.Symlink(moved, r.Dir+"/.git"), os.Lchown(r.Dir+"/.git", stranger, -1))
		}},
		{name: "another's repository", refused: "/config", root: true, set: func(_ *testenv.Repo, p *git.Dirs) error {
			*p = git.Whole(p.CommonDir)
			return os.Chown(p.CommonDir, stranger, -1)
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.root {
				testenv.NeedRoot(t, "give files to another user")
			}
			r := testenv.NewRepo(t)
			testenv.UseGitEnv(t, r.Home)
			linked := filepath.Join(r.Home, "linked")
			r.Git("worktree", "add", "-q", linked)
			p := git.Dirs{GitDir: filepath.Join(r.Dir, ".git/worktrees/linked"), CommonDir: filepath.Join(r.Dir, ".git"), WorkTree: linked}
			if err := x.set(r, &p); err != nil {
				t.Fatal(err)
			}
			_, err := git.ConsentedTransport(t.Context(), p, true)
			switch {
			case x.refused == "" && err != nil:
				t.Error(err)
			case x.refused != "" && (!errors.Is(err, plainfile.ErrRefused) || !strings.Contains(err.Error(), x.refused+" is refused: ") ||
				!strings.Contains(err.Error(), "safe.directory") || strings.Contains(err.Error(), "\n")):
				t.Errorf("%v, want one about %s", err, x.refused)
			}
			if _, err := git.ConsentedTransport(t.Context(), p, false); err != nil {
				t.Errorf("without consent: %v", err)
			}
		})
	}
}
