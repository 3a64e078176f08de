//go:build unix

package tmux

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"middleman/internal/private"
)

// configText is the private server's configuration. -q passes over options
// that a version does not have yet, so one text serves all versions.
const configText = `# The configuration of middleman's private tmux server. It is written anew
# when a session starts; put your own settings into %[2]s

# Keys, prefix, copy mode and the mouse are as tmux has them: who attaches by
# hand ("middleman tmux" says how) is at home. What middleman types goes to the
# program past all of them.
set -g mouse on
set -s escape-time 10

# A window's size is set by the attached writer alone, through resize-window:
# window-size is manual for each window of ours (as a global option it makes
# tmux 3.3 crash).
set -g status off
set -g aggressive-resize off
set -g default-terminal "tmux-256color"
set -g history-limit %[1]d

# What the program asks of its terminal reaches the terminal of who attaches by
# hand.
set -g set-titles on
set -g set-titles-string "#{pane_title}"
set -g allow-rename off
set -g automatic-rename off
set -gq allow-set-title on
# But not into a buffer of tmux's, which any program here could ask for.
set -s set-clipboard external
set -s focus-events on
set -gq allow-passthrough on
set -sq extended-keys on
set -g bell-action any
set -g visual-bell off
set -g monitor-bell on
set -ga terminal-overrides ",*:Tc"
set -saq terminal-features ",*:RGB:clipboard:title:focus:extkeys:hyperlinks:usstyle:sync:strikethrough:overline:bpaste:mouse"

# The server ends when no session is left but the one that input goes by, rather
# than of itself. No pane stays when its program has ended: one that had asked
# for focus events has crashed the server.
set -sq exit-empty off
set-hook -g 'session-closed[7767]' 'if-shell -F "%[3]s" kill-server'
set -g remain-on-exit off
set -g detach-on-destroy on

# Nothing of the environment of who attaches by hand enters a session.
set -g update-environment ""
set -g lock-after-time 0
`

// alone is what tmux expands to 1 where no session is left but the one that
// input goes by.
const alone = "#{==:#{S:#{session_name}}," + inputSession + "}"

// config returns the generated configuration. user is the directory of the
// user's own tmux.conf, or "".
func config(historyLines int, user string) string {
	own := "the configuration of middleman."
	if user != "" {
		own = filepath.Join(user, "tmux.conf") + "."
	}
	return fmt.Sprintf(configText, historyLines, own, alone)
}

// confOption is, on the server, which of the user's tmux.conf it has read.
const confOption = "@middleman_conf"

// readUserConf is the command that reads the user's tmux.conf, where the server
// has not read it as it is now: much of it holds for new windows alone. It is a
// command rather than a line of the configuration because tmux shows what is
// wrong with that over the first viewer's screen: so it is printed, and the
// commands after it go on all the same.
func readUserConf(conf userConf) []string {
	if conf.path == "" {
		return nil
	}
	return []string{
		"if-shell", "-F", "#{==:#{" + confOption + "}," + conf.stamp + "}", "",
		"set-option -s " + confOption + " " + conf.stamp + " ; source-file -q " + quote(conf.path), ";",
	}
}

// vital is what holds whatever the user's tmux.conf says, as no session could
// live otherwise. Their hooks stay: a session is made in one call of tmux, and
// gets its marks in the next, by the id of its pane.
var vital = []string{
	"set-option", "-g", "destroy-unattached", "off", ";",
	"set-option", "-s", "exit-unattached", "off", ";",
	"set-option", "-sq", "exit-empty", "off", ";",
}

// userConf is the user's own tmux.conf: its path, "" where there is none, and
// what changes when the file does.
type userConf struct{ path, stamp string }

// userConf looks for the user's own tmux.conf. Anything but a file that is
// theirs or root's is an error: tmux would run what others wrote, or wait for a
// pipe for ever.
func (s *Server) userConf() (userConf, error) {
	if s.o.Config == "" {
		return userConf{}, nil
	}
	path := filepath.Join(s.o.Config, "tmux.conf")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return userConf{}, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err == nil {
		err = private.Trusted(path)
	}
	if err != nil {
		return userConf{}, err
	}
	return userConf{path, fmt.Sprintf("%d-%d", info.ModTime().UnixNano(), info.Size())}, nil
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

// Complaint returns why the user's tmux.conf is not read, or what tmux said of
// it when it last was, "" where that was nothing or the file has changed since.
func (s *Server) Complaint() string {
	user, err := s.userConf()
	if err != nil {
		return err.Error()
	}
	path := filepath.Join(s.o.Runtime, saidFile)
	said, err := os.Stat(path)
	if err != nil || user.path == "" {
		return ""
	}
	conf, err := os.Stat(user.path)
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

// shellWord is s as one word of sh, without quotes where it needs none.
func shellWord(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-%+@", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0 {
		return s
	}
	return shellQuote(s)
}

// formatQuote protects s where tmux expands formats and then strftime(3).
func formatQuote(s string) string {
	return strings.NewReplacer("#", "##", "%", "%%").Replace(s)
}
