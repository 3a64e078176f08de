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

// configText is the private server's configuration. -q makes tmux ignore
// options that its version does not know, so that one text serves all versions.
const configText = `# The configuration of middleman's private tmux server. It is written anew
# when a session starts; put your own settings into %[2]s

# Keys, prefix, copy mode and the mouse are those of tmux, for users who attach by
# hand ("middleman tmux" prints the command). What middleman types goes to the
# program directly.
set -g mouse on
set -s escape-time 10

# A window's size is set by the attached writer alone, through resize-window:
# window-size is manual for each window of ours (as a global option it makes
# tmux 3.3 crash).
set -g status off
set -g aggressive-resize off
set -g default-terminal "tmux-256color"
set -g history-limit %[1]d

# Requests of the program to its terminal reach the terminal of a user who
# attaches by hand.
set -g set-titles on
set -g set-titles-string "#{pane_title}"
set -g allow-rename off
set -g automatic-rename off
set -gq allow-set-title on
# A clipboard text enters no buffer of tmux, which any program here could read.
set -s set-clipboard external
set -s focus-events on
set -gq allow-passthrough on
set -sq extended-keys on
set -g bell-action any
set -g visual-bell off
set -g monitor-bell on
set -ga terminal-overrides ",*:Tc"
set -saq terminal-features ",*:RGB:clipboard:title:focus:extkeys:hyperlinks:usstyle:sync:strikethrough:overline:bpaste:mouse"

# A hook ends the server when only the session for input is left; tmux itself does
# not end it. No pane stays when its program has ended: a pane that had asked for
# focus events has crashed the server.
set -sq exit-empty off
set-hook -g 'session-closed[7767]' 'if-shell -F "%[3]s" kill-server'
set -g remain-on-exit off
set -g detach-on-destroy on

# Nothing in the environment of a user who attaches by hand enters a session.
set -g update-environment ""
set -g lock-after-time 0
`

// alone is a tmux format that expands to 1 if no session is left but
// inputSession.
const alone = "#{==:#{S:#{session_name}}," + inputSession + "}"

// onlyOne is a tmux format that expands to 1 if the server has one session.
const onlyOne = "#{==:#{S:x},x}"

// config returns the generated configuration. user is the directory for the
// user's own tmux.conf, or "".
func config(historyLines int, user string) string {
	own := "the configuration of middleman."
	if user != "" {
		own = filepath.Join(user, "tmux.conf") + "."
	}
	return fmt.Sprintf(configText, historyLines, own, alone)
}

// confOption is the server option that holds the stamp of the tmux.conf that it
// read.
const confOption = "@middleman_conf"

// readUserConf returns the command that reads the user's tmux.conf, unless the
// server has read it as it is now. Many settings apply only to new windows, so
// that it is worth reading a changed file. It is a command and not a line of
// the configuration, because tmux shows errors of the latter over the first
// viewer's screen. Errors of the command are printed, and the commands after it
// run nevertheless.
func readUserConf(conf userConf) []string {
	if conf.path == "" {
		return nil
	}
	return []string{
		"if-shell", "-F", "#{==:#{" + confOption + "}," + conf.stamp + "}", "",
		"set-option -s " + confOption + " " + conf.stamp + " ; source-file -q " + quote(conf.path), ";",
	}
}

// vital sets, after the user's tmux.conf, the options that no session can live
// without. The user's hooks stay, and cannot misdirect our marks: one call of
// tmux makes a session, and the next marks its pane by the pane's id.
var vital = []string{
	"set-option", "-g", "destroy-unattached", "off", ";",
	"set-option", "-s", "exit-unattached", "off", ";",
	"set-option", "-sq", "exit-empty", "off", ";",
}

// userConf is the user's own tmux.conf: its path, "" if there is none, and a
// stamp that changes with the file.
type userConf struct{ path, stamp string }

// userConf looks for the user's own tmux.conf. It is an error if that is not a
// regular file, or if another user than this one and root could write it: tmux
// would run what others wrote, or wait for a pipe for ever.
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

// saidFile is the file in the runtime directory with what tmux printed about
// the user's tmux.conf.
const saidFile = "tmux.conf.said"

// complain logs what tmux printed about the user's tmux.conf, and keeps it for
// Complaint.
func (s *Server) complain(said string) {
	said = strings.Join(strings.Split(strings.TrimSpace(said), "\n"), "; ")
	slog.Warn("sessions start without parts of the user's tmux.conf", "tmux", said)
	path := filepath.Join(s.o.Runtime, saidFile)
	if err := private.Replace(path, []byte(said+"\n"), private.ThisBoot); err != nil {
		slog.Warn("keep what tmux said", "error", err)
	}
}

// Complaint returns why the user's tmux.conf is not read, or what tmux printed
// when it last read it. It returns "" if that was nothing or the file has
// changed since.
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

// quote returns s quoted as one word of tmux's configuration language.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(s) + `"`
}

// shellQuote returns s quoted as one word of sh.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// shellWord returns s as one word of sh, without quotes if it needs none.
func shellWord(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("/._-%+@", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0 {
		return s
	}
	return shellQuote(s)
}

// formatQuote escapes s where tmux expands formats and then strftime(3).
func formatQuote(s string) string {
	return strings.NewReplacer("#", "##", "%", "%%").Replace(s)
}
