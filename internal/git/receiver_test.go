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

// Who agrees to the hooks of a remote on this machine does not agree to those that another
// user can change, whatever the address is by which git finds them.
func TestConsentIsToOwnHooks(t *testing.T) {
	const ok = ""
	type place struct{ top, bare string }
	mode := func(mode fs.FileMode, names ...string) func(t *testing.T, p place) {
		return func(t *testing.T, p place) {
			for _, name := range names {
				if err := os.Chmod(filepath.Join(p.top, name), mode); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	hooksPath := func(value string) func(t *testing.T, p place) {
		return func(t *testing.T, p place) {
			text, err := os.ReadFile(p.bare + "/config")
			err = errors.Join(err, os.WriteFile(p.bare+"/config", append(text, "[core]\n\thooksPath = "+value+"\n"...), 0o600),
				os.MkdirAll(p.bare+"/more", 0o700), os.Chmod(p.bare+"/more", 0o777))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, x := range []struct {
		name, address string // TOP is the directory above
		set           func(t *testing.T, p place)
		refused       string // what the error names
	}{
		{"one's own", "TOP/bare.git", mode(0o755, "bare.git", "bare.git/hooks", "bare.git/hooks/update"), ok},
		{"a sample", "TOP/bare.git", mode(0o777, "bare.git/hooks/update.sample"), ok},
		{"no hooks", "TOP/bare.git", func(t *testing.T, p place) {
			if err := os.RemoveAll(p.bare + "/hooks"); err != nil {
				t.Fatal(err)
			}
		}, ok},
		{"no repository", "TOP/none", mode(0o777, "bare.git"), ok},
		{"another host", "example.org:bare.git", mode(0o777, "bare.git"), ok},
		{"other hooks than those", "TOP/bare.git", func(t *testing.T, p place) {
			hooksPath("hooks")(t, p)
		}, ok},
		{"a hook", "TOP/bare.git", mode(0o777, "bare.git/hooks/update"), "hooks/update"},
		{"the hooks", "TOP/bare.git", mode(0o777, "bare.git/hooks"), "bare.git/hooks"},
		{"the settings", "TOP/bare.git", mode(0o666, "bare.git/config"), "bare.git/config"},
		{"the directory", "TOP/bare.git", mode(0o777, "bare.git"), "bare.git"},
		{"a relative address", "../bare.git", mode(0o777, "bare.git/hooks"), "bare.git/hooks"},
		{"without its end", "TOP/bare", mode(0o777, "bare.git/hooks"), "bare.git/hooks"},
		{"as a URL", "file://TOP/b%61re.git", mode(0o777, "bare.git/hooks"), "bare.git/hooks"},
		{"as a URL with a host", "file://localhostTOP/bare.git", mode(0o777, "bare.git/hooks"), "bare.git/hooks"},
		{"as a URL with any host", "file://other.exampleTOP/bare.git", mode(0o777, "bare.git/hooks"), "bare.git/hooks"},
		{"of the home directory", "~/../bare.git", mode(0o777, "bare.git/hooks"), "bare.git/hooks"},
		{"of a checkout", "TOP/repo", mode(0o777, "repo/.git/hooks"), "repo/.git/hooks"},
		{"of a checkout that others can replace", "TOP/repo", mode(0o777, "repo"), "/repo"},
		{"of a worktree", "TOP/linked", mode(0o777, "repo/.git/hooks"), "repo/.git/hooks"},
		{"in another directory", "TOP/bare.git", hooksPath("more"), "bare.git/more"},
		{"in another directory, by its path", "TOP/bare.git", hooksPath("~/../bare.git/more"), "bare.git/more"},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := testenv.NewRepo(t)
			testenv.UseGitEnv(t, r.Home)
			p := place{top: filepath.Dir(r.Dir)}
			p.bare = p.top + "/bare.git"
			r.Git("worktree", "add", "-q", p.top+"/linked")
			r.Git("clone", "-q", "--bare", "--template=", r.Dir, p.bare)
			for _, dir := range []string{p.bare, r.Dir + "/.git"} {
				for _, name := range []string{"update", "update.sample"} {
					if err := errors.Join(os.MkdirAll(dir+"/hooks", 0o755), os.WriteFile(dir+"/hooks/"+name, nil, 0o755)); err != nil {
						t.Fatal(err)
					}
				}
			}
			x.set(t, p)
			err := git.ConsentedReceiver(t.Context(), r.Dir, strings.ReplaceAll(x.address, "TOP", p.top))
			switch {
			case x.refused == "" && err != nil:
				t.Error(err)
			case x.refused != "" && (!errors.Is(err, plainfile.ErrRefused) || !strings.Contains(err.Error(), x.refused+" is writable by others")):
				t.Errorf("%v, want one about %s", err, x.refused)
			}
		})
	}
}
