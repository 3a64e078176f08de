//go:build unix

package tmux

import (
	"fmt"
	"path/filepath"
	"strings"
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

// config returns the generated configuration. userDir is where the user's own
// tmux.conf may be, or "".
func config(historyLines int, userDir string) string {
	if userDir == "" {
		return fmt.Sprintf(configText, historyLines, "the configuration of middleman.")
	}
	user := filepath.Join(userDir, "tmux.conf")
	return fmt.Sprintf(configText, historyLines, user) + "source-file -q " + quote(user) + "\n"
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
