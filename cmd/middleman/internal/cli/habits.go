package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Users of tmux type what they are used to. Where one of our commands does it,
// SuggestFor names that one. What has no such command is here.

const (
	onePane = "a session is one program on one terminal, without panes: `middleman run WORKSPACE` starts another session"
	ownTmux = "`middleman tmux` prints the command that reaches the tmux server of the sessions, where there is one"
)

// habits has one sentence for each command of tmux that has no counterpart.
var habits = map[string]string{
	"kill-server":   "`middleman stop TARGET` ends a session, and `middleman server stop` the server alone, which sessions outlive",
	"detach":        "a key detaches: ctrl-\\ unless the settings say otherwise; what runs goes on",
	"detach-client": "a key detaches: ctrl-\\ unless the settings say otherwise; what runs goes on",
	"has-session":   "`middleman path WORKSPACE` exits with 0 if there is one",
	"has":           "`middleman path WORKSPACE` exits with 0 if there is one",
	"choose-tree":   "`middleman` alone on a terminal shows all sessions, to choose one",
	"copy-mode":     "`middleman logs TARGET` has what was printed, and `middleman search` finds it; copy mode is tmux's own: " + ownTmux,
	"source-file":   "settings are read from config.toml: `middleman config` prints them and names the file",
	"split-window":  onePane, "splitw": onePane, "select-pane": onePane, "selectp": onePane, "resize-pane": onePane, "join-pane": onePane, "break-pane": onePane,
	"bind": ownTmux, "bind-key": ownTmux, "display": ownTmux, "display-message": ownTmux, "run-shell": ownTmux, "pipe-pane": ownTmux,
}

// habitFlags are the flags of tmux before a command. V is none: it asks for the version.
const habitFlags = "2CDLNSTcflu"

// typedByHabit returns what to say to a user who typed args, "" for nothing.
func typedByHabit(args []string) string {
	if len(args) == 0 {
		return ""
	}
	if said := habits[args[0]]; said != "" {
		return "there is no command " + args[0] + ": " + said
	}
	if flag := args[0]; len(flag) >= 2 && flag[0] == '-' && strings.IndexByte(habitFlags, flag[1]) >= 0 {
		return "there is no flag -" + flag[1:2] + " before a command, as tmux has: " + ownTmux
	}
	return ""
}

// unknownCommand is the error for a command that there is not.
func unknownCommand(root *cobra.Command, typed string) error {
	if near := proposals(root, typed); len(near) > 0 {
		return Usagef("unknown command %q; did you mean %s?", typed, strings.Join(near, " or "))
	}
	return Usagef("unknown command %q; `middleman help` lists them", typed)
}

// proposals returns the commands that may have been meant: those that other programs
// call so, else those that begin so, else those with a similar name.
func proposals(root *cobra.Command, typed string) (names []string) {
	var begin []string
	for _, cmd := range root.Commands() {
		switch {
		case slices.Contains(cmd.SuggestFor, typed):
			names = append(names, cmd.Name())
		case typed != "" && strings.HasPrefix(cmd.Name(), typed) && cmd.IsAvailableCommand():
			begin = append(begin, cmd.Name())
		}
	}
	switch {
	case len(names) > 0:
		return names
	case len(begin) > 0:
		return begin
	}
	return root.SuggestionsFor(typed)
}
