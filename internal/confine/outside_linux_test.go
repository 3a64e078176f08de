package confine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"middleman/internal/egress"
	"middleman/internal/environ"
	"middleman/internal/sandbox"
	"middleman/internal/testenv"
)

// TestMain lets the test's own binary be the helper that makes a sandbox.
func TestMain(m *testing.M) {
	if sandbox.IsHelper(os.Args[1:]) {
		exit, _ := sandbox.Main(os.Args[1:], egress.Proxy{})
		os.Exit(exit)
	}
	os.Exit(m.Run())
}

// needMethod skips a test where the system has no such sandbox.
func needMethod(t *testing.T, method sandbox.Method) {
	t.Helper()
	s := sandbox.Probe()
	if why := map[sandbox.Method]string{sandbox.Bubblewrap: s.NoBubblewrap, sandbox.Landlock: s.NoLandlock}[method]; why != "" {
		t.Skip(why)
	}
}

// run makes the sandbox of p and runs a script in it. refused is why it was not made.
func (p place) run(t *testing.T, script string) (c Confined, out, refused string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.maker.Executable = self
	var e environ.Environment
	if c, err = p.maker.Make(p.session, &e); err != nil {
		return c, "", err.Error()
	}
	cmd := exec.Command(c.Wrapper[0], append(slices.Clone(c.Wrapper[1:]), "sh", "-c", script)...)
	cmd.Env = append(testenv.GitEnv(p.maker.Home), e.Entries()...)
	raw, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return c, string(raw), ""
}

func link(t *testing.T, target, path string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.Symlink(target, path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// dotfiles is a home directory whose workspace is a checkout of settings, in place.
func dotfiles(t *testing.T, method sandbox.Method) place {
	t.Helper()
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZDOTDIR", "BASH_ENV", "ENV", "GIT_CONFIG_GLOBAL"} {
		t.Setenv(name, "")
	}
	os.Unsetenv("GIT_CONFIG_GLOBAL") // git takes an empty one for no file; Setenv above brings it back
	p := newPlace(t, method)
	p.session.Root = filepath.Join(p.maker.Home, "dots")
	p.session.Dir, p.session.Made = p.session.Root, false
	write(t, filepath.Join(p.session.Root, "sub", "deep", "file"), "# mine\n", time.Now())
	write(t, filepath.Join(p.session.Root, "file"), "# mine\n", time.Now())
	write(t, filepath.Join(p.session.Root, "free"), "", time.Now())
	return p
}

// What programs outside read is protected wherever it leads into the workspace, by a link to
// it, to a directory above it, or to another link; Landlock refuses the session.
func TestReadOutside(t *testing.T) {
	type outside struct{ name, at, target string } // at is below the home directory, target below the workspace
	files := []outside{
		{"middleman's settings", "../config/config.toml", "file"},
		{"middleman's policy", "../config/policy.toml", "file"},
		{"middleman's tmux", "../config/tmux.conf", "file"},
		{"a secret", "../config/secrets/one", "sub/deep/file"},
		{"the certificate", "../data/tls/cert.pem", "file"},
		{"git", ".gitconfig", "sub/deep/file"},
		{"git's directory", ".config/git", "sub"},
		{"a file in git's directory", ".config/git/attributes", "file"},
		{"a directory above", ".config", "sub"},
		{"a unit", ".config/systemd/user/timers.target.wants/x.timer", "file"},
		{"a part of fish", ".config/fish/conf.d/x.fish", "file"},
		{"a part of zsh", ".config/zsh/aliases.zsh", "file"},
		{"fish's own", ".local/share/fish/vendor_conf.d/x.fish", "file"},
		{"fish's own directory", ".local/share/fish/vendor_conf.d", "sub/deep"},
		{"nushell", ".config/nushell/config.nu", "file"},
		{"elvish", ".config/elvish", "sub"},
		{"xonsh", ".config/xonsh/rc.xsh", "file"},
		{"plasma", ".config/plasma-workspace/env/x.sh", "file"},
		{"ssh", ".ssh/config", "file"},
		{"not there yet", ".zshenv", "sub/none"},
	}
	for _, name := range []string{".profile", ".bash_profile", ".bash_login", ".bashrc", ".zshenv", ".zprofile", ".zshrc", ".zlogin", ".tmux.conf", ".pam_environment",
		".login", ".cshrc", ".tcshrc", ".mkshrc", ".inputrc", ".bash_completion", ".xonshrc"} {
		files = append(files, outside{name, name, "file"})
	}
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(string(method), func(t *testing.T) {
			needMethod(t, method)
			for _, tt := range files {
				t.Run(tt.name, func(t *testing.T) {
					p := dotfiles(t, method)
					target := filepath.Join(p.session.Root, tt.target)
					link(t, target, filepath.Join(p.maker.Home, tt.at))
					checkProtected(t, p, target)
				})
			}
		})
	}
}

// So is what a variable names that start files set.
func TestNamedByStartFiles(t *testing.T) {
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		for _, tt := range []struct{ name, file, text, target string }{
			{"plain", ".zshenv", "export ZDOTDIR=~/dots/sub\n", "sub/.zshenv"},
			{"quoted", ".zshenv", "# mine\n\tZDOTDIR=\"$HOME/dots/sub/deep\" # yes\n", "sub/deep/.zshenv"},
			{"partly quoted", ".zshenv", "export ZDOTDIR=\"$HOME\"/dots/sub/deep; true\n", "sub/deep/.zshenv"},
			{"after others", ".zshenv", "[ -z x ] || export A=1 ZDOTDIR='HOME/dots/sub'\n", "sub/.zshenv"},
			{"a default", ".zshenv", "export ZDOTDIR=${XDG_CONFIG_HOME:-$HOME/.config}/mine\n", "sub/.zshenv"},
			{"a link in it", ".zshenv", "ZDOTDIR=~/zsh\n", "file"},
			{"the home directory", ".zshenv", "ZDOTDIR=~\nENV=~/dots/file", "file"},
			{"BASH_ENV", ".profile", "export BASH_ENV=${HOME}/dots/file\n", "file"},
			{"a second ZDOTDIR", "zsh/.zshenv", "ZDOTDIR=~/dots/sub\n", "sub/.zshenv"},
			{"BASH_ENV in ZDOTDIR", "zsh/.zprofile", "export BASH_ENV=~/dots/file\n", "file"},
			{"ENV in ZDOTDIR", "zsh/.zshrc", "export ENV=~/dots/sub/deep/file\n", "sub/deep/file"},
			{"ZDOTDIR in ZDOTDIR's login file", "zsh/.zlogin", "export ZDOTDIR=~/dots/sub\n", "sub/.zshenv"},
			{"only if unset", ".zshenv", ": ${ZDOTDIR:=$HOME/dots/sub}\n", "sub/.zshenv"},
			{"source", ".bashrc", "alias x='y' # it's mine\n[ -f ~/dots/file ] && . ~/dots/file\n", "file"},
			{"source in a condition", ".zshrc", "if true; then source \"$HOME/dots/sub/deep/file\"; fi\n", "sub/deep/file"},
			{"source in a file", ".profile", ". ~/mine\n", "file"},
			{"ENV", ".profile", "ENV=~/dots/sub/deep/file; export ENV\n", "sub/deep/file"},
		} {
			t.Run(string(method)+"/"+tt.name, func(t *testing.T) {
				needMethod(t, method)
				p := dotfiles(t, method)
				write(t, filepath.Join(p.maker.Home, tt.file), strings.ReplaceAll(tt.text, "'HOME", "'"+p.maker.Home), time.Now())
				if strings.HasPrefix(tt.file, "zsh/") {
					write(t, filepath.Join(p.maker.Home, ".zshenv"), "ZDOTDIR=~/zsh\n", time.Now())
				}
				if strings.Contains(tt.text, "~/mine") {
					write(t, filepath.Join(p.maker.Home, "mine"), "source $HOME/dots/file\n", time.Now())
				}
				if strings.Contains(tt.text, "/zsh") {
					link(t, filepath.Join(p.session.Root, "file"), filepath.Join(p.maker.Home, "zsh/aliases"))
				}
				if strings.Contains(tt.text, "/mine") {
					link(t, filepath.Join(p.session.Root, "sub"), filepath.Join(p.maker.Home, ".config/mine"))
				}
				checkProtected(t, p, filepath.Join(p.session.Root, tt.target))
			})
		}
	}
}

// checkProtected expects that no program in the sandbox changes target, and that all of the
// workspace stays where it is.
func checkProtected(t *testing.T, p place, target string) {
	t.Helper()
	before, _ := os.ReadFile(target)
	c, out, refused := p.run(t, `cd "`+p.session.Root+`"; echo x >free && echo free; echo evil >>"`+target+`"; mv sub moved; mv sub/deep moved; rm -f file; ln -s /x file; true`)
	if p.session.Method == sandbox.Landlock {
		if !strings.Contains(refused, "Landlock cannot protect it: use bubblewrap") || !strings.Contains(refused, target) {
			t.Errorf("refused with %q", refused)
		}
		return
	}
	if refused != "" || !strings.Contains(out, "free\n") {
		t.Fatalf("refused with %q\n%s", refused, out)
	}
	if after, _ := os.ReadFile(target); string(after) != string(before) {
		t.Errorf("a program in the sandbox wrote %q\n%s", after, out)
	}
	if len(c.Policy.ReadOnly) == 0 || !strings.Contains(strings.Join(c.Notes, "\n"), "is read-only in the sandbox") {
		t.Errorf("read-only: %q, notes: %q", c.Policy.ReadOnly, c.Notes)
	}
}

// So is what the user's settings of git name, also in a file that a condition includes.
func TestNamedByGit(t *testing.T) {
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		for name, settings := range map[string]string{
			"include":   "[include]\n\tpath = ~/dots/sub/deep/file\n",
			"condition": "[includeIf \"gitdir:/nowhere/\"]\n\tpath = ~/dots/sub/deep/file\n",
			"hooks":     "[core]\n\thooksPath = ~/dots/sub\n",
			"template":  "[init]\n\ttemplateDir = ~/dots/sub/deep\n",
			"fsmonitor": "[core]\n\tfsmonitor = ~/dots/sub/deep/file\n",
			"helper":    "[credential]\n\thelper = \"!sh '$HOME/dots/sub/deep/file' --x\"\n",
			"arguments": "[filter \"f\"]\n\tclean = " + "~/dots/sub/deep/file %f\n",
			"quoted":    "[core]\n\teditor = \"\\\"$HOME/dots/sub/deep/file\\\" -w\"\n",
			"after cd":  "[alias]\n\tl = !cd ~/dots/sub && ./deep/file\n",
			"below cd":  "[alias]\n\tl = \"!cd ~/dots; sh sub/deep/file\"\n",
			"upload":    "[remote \"o\"]\n\tuploadpack = ~/dots/sub/deep/file\n",
			"receive":   "[remote \"o\"]\n\treceivepack = sh ~/dots/sub/deep/file\n",
			"in PATH":   "[filter \"f\"]\n\tclean = file %f\n",
			"its link":  "[filter \"f\"]\n\tclean = linked %f\n",
			"a helper":  "[credential]\n\thelper = linked\n",
			"gpg":       "[gpg]\n\tprogram = linked\n",
			"indirect":  "[includeIf \"gitdir:/nowhere/\"]\n\tpath = other\n",
		} {
			t.Run(string(method)+"/"+name, func(t *testing.T) {
				needMethod(t, method)
				p := dotfiles(t, method)
				write(t, filepath.Join(p.maker.Home, ".gitconfig"), settings, time.Now())
				write(t, filepath.Join(p.maker.Home, "other"), "[core]\n\tpager = ~/dots/sub/deep/file\n", time.Now())
				target := filepath.Join(p.session.Root, "sub/deep/file")
				for _, program := range []string{"linked", "git-credential-linked"} {
					link(t, target, filepath.Join(p.maker.Home, "bin", program))
				}
				t.Setenv("PATH", strings.Join([]string{filepath.Join(p.maker.Home, "bin"), filepath.Dir(target), os.Getenv("PATH")}, ":"))
				if err := os.Chmod(target, 0o700); err != nil {
					t.Fatal(err)
				}
				if name == "hooks" {
					target = filepath.Join(p.session.Root, "sub/pre-commit")
				}
				c, _, refused := p.run(t, `cd "`+p.session.Root+`"; echo evil >>`+target+`; mv sub moved; true`)
				if method == sandbox.Landlock {
					if !strings.Contains(refused, "Landlock cannot protect it") {
						t.Errorf("refused with %q", refused)
					}
					return
				}
				raw, _ := os.ReadFile(target)
				if refused != "" || strings.Contains(string(raw), "evil") || !slices.Equal(c.Policy.ReadOnly, []string{filepath.Join(p.session.Root, "sub")}) {
					t.Errorf("%q: %q, read-only %q", refused, raw, c.Policy.ReadOnly)
				}
			})
		}
	}
}

// What cannot be protected by any method is refused, with what to do.
func TestOutsideIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(t *testing.T, p *place)
		want   string
	}{
		"not there yet": {func(t *testing.T, p *place) {
			link(t, filepath.Join(p.session.Root, "none"), filepath.Join(p.maker.Home, ".gitconfig"))
		}, "make it yourself"},
		"a link at the top": {func(t *testing.T, p *place) {
			link(t, "sub/deep/file", filepath.Join(p.session.Root, "gitconfig"))
			link(t, "dots/gitconfig", filepath.Join(p.maker.Home, ".gitconfig"))
		}, "through the link"},
		"a link to elsewhere": {func(t *testing.T, p *place) {
			link(t, filepath.Join(p.maker.Home, "notes"), filepath.Join(p.session.Root, "notes"))
			link(t, "dots/notes/profile", filepath.Join(p.maker.Home, ".profile"))
		}, "through the link"},
		"the workspace is git's directory": {func(t *testing.T, p *place) {
			p.session.Root = filepath.Join(p.maker.Home, ".config", "git")
			write(t, filepath.Join(p.session.Root, "config"), "", time.Now())
			p.session.Dir = p.session.Root
		}, "is or holds that directory"},
		"the workspace holds git's directory": {func(t *testing.T, p *place) {
			p.session.Root = filepath.Join(p.maker.Home, ".config")
			write(t, filepath.Join(p.session.Root, "other"), "", time.Now())
			p.session.Dir = p.session.Root
		}, "make it yourself"},
		"a link to the workspace": {func(t *testing.T, p *place) {
			link(t, p.session.Root, filepath.Join(p.maker.Home, ".config", "fish"))
		}, "is or holds that directory"},
		"a writable directory": {func(t *testing.T, p *place) {
			p.maker.Settings.Writable = []string{"~/notes"}
			link(t, filepath.Join(p.maker.Home, "notes/none"), filepath.Join(p.maker.Home, ".zshrc"))
		}, "make it yourself"},
		"a certificate of the settings": {func(t *testing.T, p *place) {
			write(t, p.maker.Dirs.File(), "[tls]\ncert = \""+p.session.Root+"/cert\"\nkey = \"/nowhere/key\"\n", time.Now())
		}, "make it yourself"},
		"a program after cd that is not there yet": {func(t *testing.T, p *place) {
			write(t, filepath.Join(p.maker.Home, ".gitconfig"), "[alias]\n\tl = !cd ~/dots && ./none\n", time.Now())
		}, "make it yourself"},
		"a program in PATH that is not there yet": {func(t *testing.T, p *place) {
			write(t, filepath.Join(p.maker.Home, ".gitconfig"), "[diff \"x\"]\n\ttextconv = linked -x\n", time.Now())
			link(t, filepath.Join(p.session.Root, "venv/bin/linked"), filepath.Join(p.maker.Home, "bin/linked"))
			t.Setenv("PATH", filepath.Join(p.maker.Home, "bin")+":"+os.Getenv("PATH"))
		}, "make it yourself"},
		"a pattern of tmux in the workspace": {func(t *testing.T, p *place) {
			write(t, filepath.Join(p.maker.Dirs.Config, "tmux.conf"), "source-file -q ~/dots/*.conf\n", time.Now())
		}, "is or holds that directory"},
		"a file of tmux that is not there yet": {func(t *testing.T, p *place) {
			write(t, filepath.Join(p.maker.Dirs.Config, "tmux.conf"), "source-file -q ~/dots/none\n", time.Now())
		}, "make it yourself"},
		"a program of ssh that is not there yet": {func(t *testing.T, p *place) {
			write(t, filepath.Join(p.maker.Home, ".ssh/config"), "ProxyCommand ~/dots/none\n", time.Now())
		}, "make it yourself"},
		"the command for notices, not there yet": {func(t *testing.T, p *place) {
			p.maker.Notify = []string{"sh", p.session.Root + "/none"}
		}, "make it yourself"},
		"by a variable": {func(t *testing.T, p *place) {
			t.Setenv("ZDOTDIR", filepath.Join(p.session.Root, "zsh"))
		}, "make it yourself"},
	} {
		t.Run(name, func(t *testing.T) {
			p := dotfiles(t, sandbox.Bubblewrap)
			tt.change(t, &p)
			var e environ.Environment
			if c, err := p.maker.Make(p.session, &e); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v; read-only: %q", err, c.Policy.ReadOnly)
			}
		})
	}
}

// A command with arguments names its program, and not a file of that whole name.
func TestArgumentsOfPrograms(t *testing.T) {
	needMethod(t, sandbox.Bubblewrap)
	for _, setting := range []string{
		"[core]\n\teditor = %s -w\n", "[core]\n\tsshCommand = %s -i x\n", "[filter \"f\"]\n\tclean = %s %%f\n",
		"[merge \"z\"]\n\tdriver = %s %%O %%A\n", "[core]\n\tpager = \"sh -c '%s -R'\"\n",
	} {
		p := dotfiles(t, sandbox.Bubblewrap)
		write(t, filepath.Join(p.maker.Home, ".gitconfig"), fmt.Sprintf(setting, filepath.Join(p.session.Root, "file")), time.Now())
		c, out, refused := p.run(t, `echo evil >>"`+p.session.Root+`/file"; true`)
		if raw, _ := os.ReadFile(filepath.Join(p.session.Root, "file")); refused != "" || strings.Contains(string(raw), "evil") || len(c.Policy.ReadOnly) != 1 {
			t.Errorf("%s: refused with %q, read-only %q\n%s", setting, refused, c.Policy.ReadOnly, out)
		}
	}
}

// An ordinary home directory changes nothing, with either method: settings that lead
// elsewhere, that name the workspace as such, and links into what the session cannot write.
func TestOrdinaryHome(t *testing.T) {
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		p := dotfiles(t, method)
		home := p.maker.Home
		p.session.Root = filepath.Join(home, "project")
		p.session.Dir = p.session.Root
		write(t, filepath.Join(p.session.Root, "file"), "", time.Now())
		write(t, filepath.Join(home, ".gitconfig"), "[safe]\n\tdirectory = ~/project\n\tdirectory = ~/project/gone\n[core]\n\thooksPath = ~/dots/sub\n\teditor = vi\n[remote \"x\"]\n\turl = ~/project\n[alias]\n\tl = log\n", time.Now())
		write(t, filepath.Join(home, ".config/fish/config.fish"), "", time.Now())
		write(t, filepath.Join(home, ".ssh/config"), "", time.Now())
		write(t, filepath.Join(home, ".zshenv"), "# export ZDOTDIR=~/project\nMY_ENV=~/project/file\nexport ENV=$(x) ZDOTDIR=~/dots BASH_ENV=$NONE/project\n", time.Now())
		link(t, filepath.Join(home, "dots/file"), filepath.Join(home, ".bashrc"))
		link(t, "gone", filepath.Join(home, ".profile"))
		link(t, ".zshrc", filepath.Join(home, ".zshrc"))
		c, _ := p.make(t)
		if c.Policy.ReadOnly != nil || strings.Contains(strings.Join(c.Notes, ""), "read-only") {
			t.Errorf("%s: read-only %q, notes %q", method, c.Policy.ReadOnly, c.Notes)
		}
	}
}
