//go:build unix

package tmux

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/private"
)

// configText is the private server's configuration. -q passes over options
// that a version does not have yet, so one text serves all versions.
const configText = `# The configuration of middleman's private tmux server. It is written anew
# when a session starts; put your own settings into %[2]s

# No keys of tmux's own: every key goes to the program.
set -g prefix None
set -g prefix2 None
unbind -a -T root
unbind -a -T prefix
set -g mouse off
set -s escape-time 10

# A window's size is set by the attached writer alone, through resize-window:
# window-size is manual for each window of ours (as a global option it makes
# tmux 3.3 crash).
set -g status off
set -g aggressive-resize off
set -g default-terminal "tmux-256color"
set -g history-limit %[1]d

# What the program asks of its terminal reaches the viewer's terminal.
set -g set-titles on
set -g set-titles-string "#{pane_title}"
set -g allow-rename off
set -g automatic-rename off
set -gq allow-set-title on
set -s set-clipboard on
set -s focus-events on
set -gq allow-passthrough on
set -sq extended-keys on
set -g bell-action any
set -g visual-bell off
set -g monitor-bell on
set -ga terminal-overrides ",*:smcup@:rmcup@"
set -ga terminal-overrides ",*:Tc"
set -saq terminal-features ",*:RGB:clipboard:title:focus:extkeys:hyperlinks:usstyle:sync:strikethrough:overline:bpaste:mouse"

# The last screen stays until it is recorded.
set -g remain-on-exit on
set -gq remain-on-exit-format ""
set -g detach-on-destroy on
set -g destroy-unattached off
set -s exit-unattached off
# The server ends with its last session; starting one again is cheap, and the
# user's settings are then read anew.
set -sq exit-empty on

# Nothing of a viewer's environment enters a session.
set -g update-environment ""
set -g default-command ""
set -g lock-after-time 0
`

// config returns the generated configuration. user is the path of the user's
// own, which is read after it, or "".
func config(historyLines int, user string) string {
	if user == "" {
		user = "the configuration of middleman."
	}
	return fmt.Sprintf(configText, historyLines, user)
}

// confOption is set on a server that has read the user's tmux.conf.
const confOption = "@middleman_conf"

// readUserConf is the command that reads the user's tmux.conf, once for each
// server and before its first session, since much of it holds for new windows
// alone. It is a command rather than a line of the configuration because tmux
// shows what is wrong with that over the first viewer's screen: so it is
// printed, and the commands after it go on all the same.
func readUserConf(user string) []string {
	if user == "" {
		return nil
	}
	return []string{
		"if-shell", "-F", "#{" + confOption + "}", "",
		"set-option -s " + confOption + " read ; source-file -q " + quote(user), ";",
	}
}

// hooks are those that fire while a session is started. A user's would run
// within the sequence that makes it: rename it, or put a pane of theirs into
// it, before it has its marks.
var hooks = []string{"after-new-session", "session-created", "window-linked", "after-set-option", "after-resize-window", "after-select-pane", "after-pipe-pane"}

// vital is what holds whatever the user's tmux.conf says, as no session could
// live otherwise.
func vital() []string {
	var args []string
	for _, setting := range [][]string{
		{"set-option", "-g", "destroy-unattached", "off"},
		{"set-option", "-s", "exit-unattached", "off"},
		{"set-option", "-g", "remain-on-exit", "on"},
		{"set-option", "-g", "default-command", ""},
	} {
		args = append(append(args, setting...), ";")
	}
	for _, hook := range hooks {
		args = append(args, "set-hook", "-gu", hook, ";")
	}
	return args
}

// userConf is the path of the user's own tmux.conf, or "".
func (s *Server) userConf() string {
	if s.o.Config == "" {
		return ""
	}
	return filepath.Join(s.o.Config, "tmux.conf")
}

// saidFile is, in the runtime directory, what tmux said of the user's
// tmux.conf.
const saidFile = "tmux.conf.said"

// complain tells what tmux said of the user's tmux.conf, and keeps it for
// Complaint.
func (s *Server) complain(said string) {
	said = strings.Join(strings.Split(strings.TrimSpace(said), "\n"), "; ")
	slog.Warn("sessions start without parts of the user's tmux.conf", "tmux", said)
	path := filepath.Join(s.o.Runtime, saidFile)
	if err := private.Replace(path, []byte(said+"\n"), private.ThisBoot); err != nil {
		slog.Warn("keep what tmux said", "error", err)
	}
}

// Complaint returns what tmux said of the user's tmux.conf when it was last
// read, "" where that was nothing or the file has changed since.
func (s *Server) Complaint() string {
	path := filepath.Join(s.o.Runtime, saidFile)
	said, err := os.Stat(path)
	if err != nil {
		return ""
	}
	conf, err := os.Stat(s.userConf())
	if err != nil || conf.ModTime().After(said.ModTime()) {
		return ""
	}
	text, err := private.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

// quote makes s one word of tmux's configuration language.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(s) + `"`
}

// shellQuote makes s one word of sh.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// formatQuote protects s where tmux expands formats and then strftime(3).
func formatQuote(s string) string {
	return strings.NewReplacer("#", "##", "%", "%%").Replace(s)
}
