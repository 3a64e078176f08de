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
	mounts           bool // Landlock names a directory above
}

// inHome puts the home directory in.
func inHome(p place, text string) string {
	return strings.NewReplacer("$HOME", "$HOME", "${HOME}", "${HOME}", "HOME", p.maker.Home).Replace(text)
}

// checkNaming expects that what is named is protected by each method.
func checkNaming(t *testing.T, all []naming) {
	t.Helper()
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		for _, tt := range all {
			t.Run(string(method)+"/"+tt.name, func(t *testing.T) {
				if needMethod(t, method); tt.mounts && method == sandbox.Landlock {
					return
				}
				p := dotfiles(t, method)
				if tt.before != nil {
					tt.before(t, &p)
				}
				write(t, filepath.Join(p.maker.Home, tt.file), inHome(p, tt.text), time.Now())
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
			write(t, filepath.Join(p.maker.Home, file), inHome(p, text), time.Now())
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

// also writes a further file below the home directory.
func also(file, text string) func(t *testing.T, p *place) {
	return func(t *testing.T, p *place) {
		write(t, filepath.Join(p.maker.Home, file), inHome(*p, text), time.Now())
	}
}

// So is what settings of tmux name, the private server's and the user's own.
func TestNamedByTmux(t *testing.T) {
	own, users := "../config/tmux.conf", ".tmux.conf"
	checkNaming(t, []naming{
		{name: "source-file", file: own, text: "set -g mouse on\nsource-file ~/dots/sub/deep/file\n"},
		{name: "the user's", file: users, text: "source ~/dots/sub/deep/file\n"},
		{name: "in XDG_CONFIG_HOME", file: ".config/tmux/tmux.conf", text: "source -q -v $HOME/dots/sub/deep/file"},
		{name: "cut", file: own, text: "sourc 'HOME/dots/sub/deep/file'\n"},
		{name: "flags", file: own, text: "source-file -qnF \"HOME/dots/sub/deep/file\"\n"},
		{name: "several", file: own, text: "source-file ~/none ~/dots/sub/deep/file\n"},
		{name: "a pattern", file: own, text: "source-file -q ~/dots/sub/deep/*.conf\n", target: "sub/deep/new.conf", mounts: true},
		{name: "a pattern of directories", file: own, text: "source-file -q ~/*/sub/deep/file\n"},
		{name: "after others", file: own, text: "set -g @x 'a;b' ; source-file ~/dots/sub/deep/file\n"},
		{name: "after a comment", file: own, text: "# it's \"mine\nset -g x y # don't\nsource-file \\\n  ~/dots/sub/deep/file\n"},
		{name: "a condition", file: own, text: "%if #{==:#{host},x}\nsource-file ~/dots/sub/deep/file\n%endif\n"},
		{name: "if-shell", file: own, text: "if-shell 'test -n x' 'set -g mouse on' 'source-file ~/dots/sub/deep/file'\n"},
		{name: "a block", file: own, text: "if -F '#{x}' { set -g mouse on\n source-file ~/dots/sub/deep/file }\n"},
		{name: "a key", file: own, text: "bind-key r source-file ~/dots/sub/deep/file \\; display-message done\n"},
		{name: "a key's second", file: own, text: "bind r display x\\; source ~/dots/sub/deep/file\n"},
		{name: "a hook", file: own, text: "set-hook -g client-attached 'run-shell \"HOME/dots/sub/deep/file x\"'\n"},
		{name: "a variable", file: own, text: "DOTS=~/dots/sub\nsource-file $DOTS/deep/file\n"},
		{name: "an option", file: own, text: "set -g @dots ~/dots/sub\nsource-file -F '#{@dots}/deep/file'\n"},
		{name: "beside it", file: "tmux/one.conf", text: "source-file -F '#{d:current_file}/../dots/sub/deep/file'\n", before: also(own, "source-file ~/tmux/one.conf\n")},
		{name: "in a file", file: "tmux/one.conf", text: "run-shell ~/dots/sub/deep/file\n", before: also(own, "source-file ~/tmux/*.conf\n")},
		{name: "a circle", file: "tmux/one.conf", text: "source-file ~/tmux/one.conf\nsource ~/dots/sub/deep/file\n", before: also(users, "source-file ~/tmux/one.conf\n")},
		{name: "run-shell", file: own, text: "run-shell -b 'sh ~/dots/sub/deep/file #{pane_id}'\n"},
		{name: "in PATH", file: own, text: "run 'linked x'\n", before: linked},
		{name: "a command", file: own, text: "set -g default-command 'exec ~/dots/sub/deep/file'\n"},
		{name: "a shell", file: own, text: "set-option -g default-shell HOME/dots/sub/deep/file\n"},
		{name: "a pipe", file: own, text: "bind P pipe-pane -o 'cat >>~/dots/sub/deep/file'\n"},
		{name: "copies", file: own, text: "bind -T copy-mode-vi y send -X copy-pipe-and-cancel \"~/dots/sub/deep/file -i\"\n"},
		{name: "a status line", file: own, text: "set -g status-right \"#[fg=green]#(cd ~/dots && sub/deep/file (x)) %H\"\n"},
		{name: "a status line in PATH", file: own, text: "set -g status-right '#{?x,#(linked),}'\n", before: linked},
	})
	checkFree(t, own,
		"# source-file ~/dots/file\nset -g mouse on\nsource-file -q ~/.tmux.mine /etc/none/*.conf\n",
		"set -g @dir ~/dots/none\nbind e new-window -c ~/dots 'vim ~/dots/none'\nset -g status-right '#(uptime) ~/dots %H'\n",
		"bind-key -n M-x if-shell '[ -f ~/dots/none ]' { display '~/dots' } { run 'true' }\nset -g default-shell /bin/sh\n",
		"source-file '\nunclosed { ; \\", "%if\n}}}{{{ $X ${ #{ #( \"")
}

// So is what settings of ssh name, whatever the host.
func TestNamedBySSH(t *testing.T) {
	config := ".ssh/config"
	checkNaming(t, []naming{
		{name: "ProxyCommand", file: config, text: "Host x\n\tProxyCommand ~/dots/sub/deep/file %h %p\n"},
		{name: "of another case", file: config, text: "HOST x\nproxycommand=exec HOME/dots/sub/deep/file %h\n"},
		{name: "home by a token", file: config, text: "ProxyCommand = sh -c \"%d/dots/sub/deep/file %h\"\n"},
		{name: "in PATH", file: config, text: "ProxyCommand linked %h %p\n", before: linked},
		{name: "KnownHostsCommand", file: config, text: "KnownHostsCommand HOME/dots/sub/deep/file %H\n"},
		{name: "LocalCommand", file: config, text: "LocalCommand ~/dots/sub/deep/file\n"},
		{name: "Match", file: config, text: "Match host x !exec \"~/dots/sub/deep/file %h\"\n"},
		{name: "Match with a sign", file: config, text: "Match exec=\"test -x ~/dots/sub/deep/file\"\n"},
		{name: "a key", file: config, text: "IdentityFile \"~/dots/sub/deep/file\"\n"},
		{name: "keys by host", file: config, text: "IdentityFile ~/dots/sub/deep/%h\n", target: "sub/deep/one", mounts: true},
		{name: "a certificate", file: config, text: "CertificateFile ${HOME}/dots/sub/deep/file # mine\n"},
		{name: "hosts", file: config, text: "UserKnownHostsFile ~/.ssh/known_hosts ~/dots/sub/deep/file\n"},
		{name: "all hosts", file: config, text: "GlobalKnownHostsFile HOME/dots/sub/deep/file\n"},
		{name: "a library", file: config, text: "PKCS11Provider HOME/dots/sub/deep/file\n"},
		{name: "another library", file: config, text: "SecurityKeyProvider HOME/dots/sub/deep/file\n"},
		{name: "xauth", file: config, text: "XAuthLocation HOME/dots/sub/deep/file\n"},
		{name: "Include", file: config, text: "Include ~/dots/sub/deep/file\n"},
		{name: "several of another form", file: config, text: "include=none \"HOME/dots/sub/deep/file\"\n"},
		{name: "a relative one", file: config, text: "Include ../dots/sub/deep/file\n"},
		{name: "a pattern", file: config, text: "Include ~/dots/sub/deep/*.conf\n", target: "sub/deep/new.conf", mounts: true},
		{name: "in a file", file: ".ssh/more/one", text: "Include more/one\nHost x\nProxyCommand ~/dots/sub/deep/file\n", before: also(config, "Include more/*\n")},
	})
	checkFree(t, config,
		"# ProxyCommand ~/dots/file\nHost dots\n\tHostName ~/dots/file\n\tUserKnownHostsFile /dev/null\n\tIdentityFile ~/.ssh/id_%h\n",
		"ProxyCommand none\nProxyJump x\nInclude conf.d/* none ~/none/*\nMatch exec \"test -d ~/dots\"\n",
		"ProxyCommand nc -x localhost:1080 %h %p\nIdentityFile relative\nSetEnv X=~/dots/file\n", "Include \"\nMatch exec\nProxyCommand '\"\\")
}

// So is what variables of the caller name that reach programs outside.
func TestNamedByVariables(t *testing.T) {
	var all []naming
	for variable, value := range map[string]string{
		"GIT_SSH_COMMAND": "HOME/dots/sub/deep/file -x", "GIT_SSH": "HOME/dots/sub/deep/file", "GIT_EDITOR": "sh ~/dots/sub/deep/file", "GIT_SEQUENCE_EDITOR": "HOME/dots/sub/deep/file",
		"EDITOR": "linked -w", "VISUAL": "HOME/dots/sub/deep/file", "PAGER": "HOME/dots/sub/deep/file -R", "GIT_PAGER": "linked", "MANPAGER": "sh -c 'col | ~/dots/sub/deep/file'",
		"BROWSER": "firefox:HOME/dots/sub/deep/file %s", "SHELL": "HOME/dots/sub/deep/file", "GIT_ASKPASS": "HOME/dots/sub/deep/file", "SSH_ASKPASS": "HOME/dots/sub/deep/file",
		"GIT_PROXY_COMMAND": "HOME/dots/sub/deep/file", "GIT_EXTERNAL_DIFF": "HOME/dots/sub/deep/file", "GIT_EXEC_PATH": "HOME/dots/sub/deep", "GIT_CONFIG_SYSTEM": "HOME/dots/sub/deep/file",
	} {
		all = append(all, naming{name: variable, file: "free", mounts: variable == "GIT_EXEC_PATH", before: func(t *testing.T, p *place) {
			linked(t, p)
			t.Setenv(variable, inHome(*p, value))
		}})
	}
	all = append(all, naming{name: "GIT_CONFIG_COUNT", file: "free", before: func(t *testing.T, p *place) {
		t.Setenv("GIT_CONFIG_COUNT", "2")
		t.Setenv("GIT_CONFIG_KEY_0", "Core.AskPass")
		t.Setenv("GIT_CONFIG_VALUE_0", "x")
		t.Setenv("GIT_CONFIG_KEY_1", "Core.SSHCommand")
		t.Setenv("GIT_CONFIG_VALUE_1", "sh "+p.session.Root+"/sub/deep/file")
	}})
	checkNaming(t, all)
	t.Setenv("EDITOR", "vi -c 'cd dots'")
	t.Setenv("GIT_SSH_COMMAND", "ssh -i ~/.ssh/none")
	t.Setenv("BROWSER", "none:%s")
	checkFree(t, "free", "")
}
