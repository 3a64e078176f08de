package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/environ"
	"middleman/internal/sandbox"
)

// No program can replace what runs outside of its sandbox.
func TestProgramsStay(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *place, at func(string) string)
		want   string // "" if it is allowed
	}{
		{"elsewhere", func(*place, func(string) string) {}, ""},
		{"middleman in the workspace", func(p *place, at func(string) string) { p.maker.Executable = at("data/workspaces/w/bin/middleman") }, "middleman's own executable is "},
		{"middleman in a writable directory", func(p *place, at func(string) string) { p.maker.Settings.Writable = []string{at("bin")} }, "install middleman elsewhere"},
		{"middleman by a link in the workspace", func(p *place, at func(string) string) { p.maker.Executable = at("data/workspaces/w/link/middleman") }, "middleman's own executable is "},
		{"git in the workspace", func(p *place, at func(string) string) {
			p.session.Programs = []string{at("bin/tmux"), at("data/workspaces/w/bin/git")}
		}, "the server runs "},
		{"git beside it", func(p *place, at func(string) string) { p.session.Programs = []string{at("data/workspaces/w2/git")} }, ""},
	} {
		for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
			t.Run(c.name+" by "+string(method), func(t *testing.T) {
				p := newPlace(t, method)
				at := func(path string) string { return filepath.Join(filepath.Dir(p.maker.Home), path) }
				write(t, at("data/workspaces/w/bin/middleman"), "program", time.Now())
				write(t, at("data/workspaces/w/bin/git"), "program", time.Now())
				if err := os.Symlink(at("bin"), at("data/workspaces/w/link")); err != nil {
					t.Fatal(err)
				}
				c.change(&p, at)
				var e environ.Environment
				e.Set(environ.Listed, "HOME="+p.maker.Home, "TMPDIR="+at("tmp"))
				_, err := p.maker.Make(p.session, &e)
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%v, want %q", err, c.want)
				}
			})
		}
	}
}

// Temporary files are shared with the host only where no such program lies.
func TestProgramAmongTemporaryFiles(t *testing.T) {
	p := newPlace(t, sandbox.Landlock)
	temp := filepath.Join(filepath.Dir(p.maker.Home), "tmp")
	p.maker.Executable = filepath.Join(temp, "middleman")
	write(t, p.maker.Executable, "program", time.Now())
	if c, e := p.make(t, "TMPDIR="+temp); c.Policy.Temp == temp || !strings.HasPrefix(c.Policy.Temp, p.maker.Dirs.Sandbox("")) {
		t.Errorf("temporary files in %s, TMPDIR=%s", c.Policy.Temp, e.Lookup("TMPDIR"))
	}
}
