package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/agent"
	"middleman/internal/environ"
	"middleman/internal/sandbox"
)

// naming is what settings outside name in the workspace, which is ~/dots: target below it.
type naming struct {
	name, file, text string // file is below the home directory
	target           string // sub/deep/file if it is ""
	before           func(t *testing.T, p *place)
}

// checkNaming expects that what is named is protected by each method.
func checkNaming(t *testing.T, all []naming) {
	t.Helper()
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		for _, tt := range all {
			t.Run(string(method)+"/"+tt.name, func(t *testing.T) {
				needMethod(t, method)
				p := dotfiles(t, method)
				if tt.before != nil {
					tt.before(t, &p)
				}
				write(t, filepath.Join(p.maker.Home, tt.file), strings.ReplaceAll(tt.text, "HOME", p.maker.Home), time.Now())
				if tt.target == "" {
					tt.target = "sub/deep/file"
				}
				checkProtected(t, p, filepath.Join(p.session.Root, tt.target))
			})
		}
	}
}

// checkFree expects that text in a file changes nothing.
func checkFree(t *testing.T, file string, texts ...string) {
	t.Helper()
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		for _, text := range texts {
			p := dotfiles(t, method)
			write(t, filepath.Join(p.maker.Home, file), strings.ReplaceAll(text, "HOME", p.maker.Home), time.Now())
			var e environ.Environment
			c, err := p.maker.Make(p.session, &e)
			if err != nil || c.Policy.ReadOnly != nil || strings.Contains(strings.Join(c.Notes, ""), "read-only") {
				t.Errorf("%s: %s: %v, read-only %q, notes %q", method, text, err, c.Policy.ReadOnly, c.Notes)
			}
		}
	}
}

// linked leads the program linked in PATH to a file of the workspace.
func linked(t *testing.T, p *place) {
	t.Helper()
	target := filepath.Join(p.session.Root, "sub/deep/file")
	link(t, target, filepath.Join(p.maker.Home, "bin/linked"))
	t.Setenv("PATH", filepath.Join(p.maker.Home, "bin")+":"+os.Getenv("PATH"))
	if err := os.Chmod(target, 0o700); err != nil {
		t.Fatal(err)
	}
}

// What settings of middleman's name that runs outside is protected.
func TestNamedByOwnSettings(t *testing.T) {
	checkNaming(t, []naming{
		{name: "notices", file: "../config/config.toml", text: "[notify]\ncommand = [\"HOME/dots/sub/deep/file\"]\n"},
		{name: "a script", file: "../config/config.toml", text: "[notify]\ncommand = [\"sh\", \"HOME/dots/sub/deep/file\", \"x\"]\n"},
		{name: "a script in a script", file: "../config/config.toml", text: "[notify]\ncommand = [\"sh\", \"-c\", \"cat | ~/dots/sub/deep/file -x\"]\n"},
		{name: "below the home directory", file: "../config/config.toml", text: "[notify]\ncommand = [\"sh\", \"dots/sub/deep/file\"]\n"},
		{name: "what is written", file: "../config/config.toml", text: "[notify]\ncommand = [\"sh\", \"-c\", \"cat >>~/dots/sub/deep/file\"]\n"},
		{name: "in PATH", file: "../config/config.toml", text: "[notify]\ncommand = [\"linked\"]\n", before: linked},
		{name: "a profile", file: "../config/config.toml", text: "[profiles.x]\ncommand = [\"HOME/dots/sub/deep/file\"]\n"},
		{name: "a profile's script", file: "../config/config.toml", text: "[profiles.x]\ncommand = [\"sh\", \"HOME/dots/sub/deep/file\"]\n"},
		{name: "a profile in PATH", file: "../config/config.toml", text: "[profiles.x]\ncommand = [\"linked\"]\n", before: linked},
		{name: "secrets", file: "../config/policy.toml", text: "[secrets]\ncommand = [\"HOME/dots/sub/deep/file\", \"{name}\"]\n"},
		{name: "notices of the running server", file: "../config/config.toml", text: "not valid", before: func(_ *testing.T, p *place) {
			p.maker.Notify = []string{"sh", filepath.Join(p.session.Root, "sub/deep/file")}
		}},
		{name: "profiles of the running server", file: "../config/config.toml", before: func(_ *testing.T, p *place) {
			p.maker.Profiles = map[string]agent.Definition{"x": {Command: []string{filepath.Join(p.session.Root, "sub/deep/file")}}}
		}},
	})
	checkFree(t, "../config/config.toml",
		"[notify]\ncommand = [\"notify-send\", \"dots\", \"HOME/dots\"]\n", "[notify]\ncommand = [\"sh\", \"-c\", \"cat >/dev/null\"]\n",
		"[profiles.x]\ncommand = [\"sh\", \"-c\", \"make -C HOME/dots\"]\n", "[profiles.x]\ncommand = [\"x\", \"--log\", \"HOME/dots/none\", \"--root=HOME/dots\", \"file\"]\n",
		"[sandbox]\nwritable = [\"~/dots\"]\n", "[profiles.claude]\napprovals = true\n")
}
