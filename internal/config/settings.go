package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"middleman/internal/agent"
	"middleman/internal/keydoc"
	"middleman/internal/tomlfile"
)

// Settings describes the keys of config.toml, with the values that c has.
func (c Config) Settings() []keydoc.Key { return keydoc.Of(c, texts) }

var clipboardRules = []string{"allow", "ask", "deny"}

// texts describe each setting.
var texts = append([]keydoc.Text{
	{Key: "listen", About: `The TCP address at which the server listens for browsers. Port 0 takes any free one. Beyond loopback the server must encrypt.`},
	{Key: "backend", Values: []string{"auto", "tmux", "pty-owner"}, About: `What hosts the terminals of new sessions: a private tmux server, or a PTY of the session's owner. "auto" takes tmux if it is installed and passes a check.`},
	{Key: "branch_prefix", About: `New branches have the name PREFIX/NAME.`},
	{Key: "workspaces", About: `Where worktrees are made: in the data directory, in .middleman/work of the repository, which git then ignores there, or in the directory with that path. It must be yours alone, and in no checkout that does not ignore it. Workspaces that exist stay where they are.`},
	{Key: "hosts", About: `More host names by which browsers may reach the server, such as that of a proxy. Requests for other names are refused.`},
	{Key: "tls.local", About: `Encrypt, with a certificate of a local authority that your browser must trust.`},
	{Key: "tls.cert", About: `Encrypt, with the certificate chain in this PEM file. tls.key goes with it.`},
	{Key: "tls.key", About: `The PEM file with the private key of tls.cert.`},
	{Key: "attach.detach", Live: true, About: `The key that leaves a session and lets it run: "ctrl-" and one of a to z or [ \ ] ^ _.`},
	{Key: "attach.switch", Live: true, About: `The key that lists the other sessions, to go to one of them: a key as for attach.detach, or "none".`},
	{Key: "attach.scrollback", Live: true, About: `How many past lines attach prints before the screen. A negative number prints all that are kept.`},
	{Key: "attach.clipboard", Live: true, Values: clipboardRules, About: `Whether the program of an attached session may set your terminal's clipboard, if terminal.clipboard allows it too. "ask" asks when you leave the session.`},
	{Key: "terminal.journal_bytes", About: `How many bytes of a session's output are kept at least. 0 keeps all.`},
	{Key: "terminal.history_lines", About: `How many lines of scrollback tmux keeps for those who attach to it by hand.`},
	{Key: "terminal.grace", About: `How long a stop waits after SIGTERM before it sends SIGKILL.`},
	{Key: "terminal.clipboard", Values: clipboardRules, About: `Whether the program of a new session may set the clipboard of those who are attached. The stricter of this and their own rule applies.`},
	{Key: "notify.terminal", Live: true, Values: []string{"bell", "osc9", "osc777", "off"}, About: `How attach and watch tell that an agent in another session needs you, is done or has failed: by the bell, or by a notification of the terminal (OSC 9, or OSC 777) with the session and the reason.`},
	{Key: "notify.command", About: `A program and its arguments that the server runs for each such notice, with your login environment and one JSON object on standard input. It has ten seconds, then it is killed with its process group.`},
	{Key: "notify.push_private", About: `Also send notices of browsers (Web Push) to push services at private addresses, and by plain http at loopback. By default the server sends to public addresses alone.`},
	{Key: "ports.first", About: `The first of the TCP ports that workspaces get for themselves, 1024 or more.`},
	{Key: "ports.last", About: `The last of these ports.`},
	{Key: "ports.count", About: `How many of them a workspace gets, if its repository does not say. 0 is none.`},
	{Key: "setup.timeout", About: `How long the setup, teardown or check of a workspace may take in total.`},
	{Key: "env.forward", Live: true, About: `The environment variables of your shell that reach the sessions that you start: patterns such as "LC_*".`},
	{Key: "env.deny", Live: true, About: `The variables that never do, whatever env.forward says. What the server takes from your login follows both lists too, after a restart.`},
	{Key: "env.ssh_agent_link", Live: true, About: `Let SSH_AUTH_SOCK of a session lead to the agent of the shell that attached last.`},
	{Key: "shell.login", About: `Start shells as login shells.`},
	{Key: "transcripts.keep", About: `How much space the transcripts of deleted workspaces may take in all: output, last screens and exits of their sessions. Beyond it those of the oldest deletion are removed first.`},
	{Key: "watch.directories", About: `How many directories the server watches for changes, of all workspaces together. 0 watches none. A workspace beyond a limit is inspected when it is listed instead.`},
	{Key: "watch.per_workspace", About: `How many directories of one workspace it watches.`},
	{Key: "sandbox.level", Values: []string{"auto", "none", "workspace", "strict"}, About: `What a session may touch that says nothing itself (--sandbox) and whose profile says nothing. "auto" is workspace for coding agents and none for shells and commands.`},
	{Key: "sandbox.hide", About: `More files and directories that a sandboxed program does not read: absolute paths, or "~/...".`},
	{Key: "sandbox.show", About: `Files and directories that it does read, although they are among those that are hidden by default.`},
	{Key: "sandbox.writable", About: `Directories that every sandboxed program may change, besides its workspace.`},
	{Key: "sandbox.network", About: `The hosts that a sandboxed session can reach, and no others: "registry.example" (ports 80 and 443), "registry.example:8443", "*.example.org" (all names below it), "db.internal:5432 private" (also at a private address), "192.168.0.7:5432". It needs bubblewrap. Without it the level says whether there is a network.`},
	{Key: "sandbox.secrets", About: `Variables whose values sandboxed programs never have, and the hosts that each is for: "API_KEY api.example". Inside, the variable has a placeholder, and the proxy of the network list puts the value into requests to these hosts. A sandbox without a network list that would have such a variable is refused.`},
	{Key: "sandbox.logins", About: `Profiles whose programs may renew your login, such as "claude" and "codex". What such a program writes in a sandbox to the files that the profile's logins name replaces yours, if it has the same form and yours has not changed since. A program that means harm can log you in as somebody else by that.`},
	{Key: "sandbox.memory", About: `How much memory for data each process of a sandboxed session may have, at least 256MiB.`},
	{Key: "sandbox.file_size", About: `How large a file may become that a program of a sandboxed session writes, at least 1MiB.`},
	{Key: "sandbox.processes", About: `How many processes and threads a sandboxed session may have at once, at least 64, or 0 for no bound. It needs bubblewrap, and a user who is not root.`},
}, agent.Keys...)

// SetIn returns the keys that the settings file raw sets. raw is one that Load took.
func SetIn(raw []byte) (map[string]bool, error) {
	var tables map[string]any
	if err := tomlfile.Decode(raw, &tables, ""); err != nil {
		return nil, err
	}
	set := map[string]bool{}
	for name, value := range tables {
		keys, is := value.(map[string]any)
		if !is {
			set[name] = true
		}
		for key := range keys {
			set[name+"."+key] = true
		}
	}
	return set, nil
}

// MarshalText writes the place as the settings have it.
func (p Place) MarshalText() ([]byte, error) { return []byte(p), nil }

// Kind says which places there are.
func (Place) Kind() string { return `"data", "repository" or an absolute path` }

// Kind says what a duration looks like.
func (Duration) Kind() string { return `duration such as "90s" or "1m30s"` }

// MarshalText writes the duration as UnmarshalText reads it.
func (d Duration) MarshalText() ([]byte, error) {
	text := time.Duration(d).String()
	for _, zero := range []struct{ unit, part string }{{"m", "0s"}, {"h", "0m"}} {
		if strings.HasSuffix(text, zero.unit+zero.part) {
			text = strings.TrimSuffix(text, zero.part)
		}
	}
	return []byte(text), nil
}

// Kind says what a budget looks like.
func (Budget) Kind() string { return `size such as "500MiB", "none" or "all"` }

// MarshalText writes the budget as UnmarshalText reads it.
func (b Budget) MarshalText() ([]byte, error) {
	switch b {
	case 0:
		return []byte("none"), nil
	case keepAll:
		return []byte("all"), nil
	}
	for _, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if size := Budget(units[strings.ToLower(unit)]); b%size == 0 {
			return fmt.Appendf(nil, "%d%s", b/size, unit), nil
		}
	}
	return strconv.AppendInt(nil, int64(b), 10), nil
}
