package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/plaintext"
	"middleman/terminal/await"
)

type searchFlags struct {
	regex, ignoreCase bool
}

// found is a line of a session's output that matched.
type found struct {
	Workspace string `json:"workspace"`
	Session   string `json:"session"`
	SessionID string `json:"session_id"`
	// DeletedAt is when the session's workspace was deleted, if it was.
	DeletedAt *time.Time `json:"workspace_deleted_at,omitempty"`
	// Offset is where the line began when it was last printed.
	Offset uint64 `json:"offset"`
	// Times is how often it was printed: a program that draws a screen prints a
	// line again and again.
	Times int    `json:"times"`
	Line  string `json:"line"`
}

func (c commands) searchCommand() *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "search TEXT [TARGET...] [-i] [--regex]",
		Short: "Find text in the output of sessions, also of ended ones and of deleted workspaces",
		Long: `Find text in the kept output of all sessions, or of those named: a WORKSPACE (all
of its sessions), WORKSPACE/SESSION or a session's id. Sessions of deleted workspaces
are listed with their ids, which other commands take as TARGET.

Each line that matches is listed once, with the offset where it was printed last.
"capture TARGET --at OFFSET" shows the screen at that moment, "logs TARGET --from
OFFSET" prints the output from there. The exit code is 1 if nothing matches.

Without TARGET this machine's sessions are searched; RUNTIME: searches all of another
machine.`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			match, err := f.matcher(given[0])
			if err != nil {
				return err
			}
			return c.search(cmd.Context(), given[0], match, given[1:])
		},
		ValidArgsFunction: func(cmd *cobra.Command, given []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			if len(given) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return catalog.Complete(c.CLI)(cmd, nil, toComplete)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.ignoreCase, "ignore-case", "i", false, "ignore case")
	flags.BoolVar(&f.regex, "regex", false, "TEXT is a regular expression (RE2)")
	return cmd
}

// matcher returns the test for a line.
func (f searchFlags) matcher(text string) (func([]byte) bool, error) {
	if text == "" {
		return nil, cli.Usagef("search needs some TEXT to look for")
	}
	match, err := await.Query{Text: text, Regex: f.regex, IgnoreCase: f.ignoreCase}.Match()
	if err != nil {
		return nil, cli.Usagef("search: %w", err)
	}
	return match, nil
}

// search searches sessions one after the other. If one cannot be read it
// reports that and goes on.
func (c commands) search(ctx context.Context, text string, match func([]byte) bool, targets []string) error {
	sessions, err := c.searched(ctx, targets)
	if err != nil {
		return err
	}
	var all []found
	var failed error
	for _, s := range sessions {
		lines, err := c.searchSession(ctx, s, match)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		all = append(all, lines...)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("search %s/%s: %w", s.WorkspaceName, s.Name, err))
		}
	}
	if err := c.printFound(all); err != nil {
		return err
	}
	if failed == nil && len(all) == 0 {
		return fmt.Errorf("%q was not found in the kept output of %s", text, plaintext.Count(len(sessions), "session"))
	}
	return failed
}

// searched finds the sessions by the records if it can, see catalog.Recorded.
func (c commands) searched(ctx context.Context, targets []string) ([]api.Session, error) {
	list, err := catalog.Records(ctx, c.CLI)
	if err == nil {
		var sessions []api.Session
		if sessions, err = c.meant(ctx, list, targets); err == nil {
			return sessions, nil
		}
	}
	if list, err = catalog.Read(ctx, c.CLI); err != nil {
		return nil, err
	}
	return c.meant(ctx, list, targets)
}

// meant returns the sessions that targets mean, each once; without targets all,
// those of deleted workspaces too.
func (c commands) meant(ctx context.Context, l catalog.List, targets []string) ([]api.Session, error) {
	if len(targets) == 0 || c.Runtime != "" && slices.Equal(targets, []string{""}) {
		past, err := catalog.Deleted(ctx, c.CLI)
		return append(l.Sessions, past.Sessions...), err
	}
	var chosen []api.Session
	for _, target := range targets {
		shown, err := l.Shown(target)
		if err != nil {
			shown, err = catalog.InDeleted(ctx, c.CLI, err, func(past catalog.List) (api.Shown, error) { return past.Shown(target) })
		}
		if err != nil {
			return nil, err
		}
		for _, s := range shown.Sessions {
			if !slices.ContainsFunc(chosen, func(c api.Session) bool { return c.ID == s.ID }) {
				chosen = append(chosen, s)
			}
		}
	}
	return chosen, nil
}

// searchSession returns the matching lines of one session, in the order in
// which they were last printed.
func (c commands) searchSession(ctx context.Context, s api.Session, match func([]byte) bool) ([]found, error) {
	t, err := catalog.Direct(c.CLI, s)
	if err != nil {
		return nil, err
	}
	hits, err := await.Find(ctx, t.Session, match)
	var all []found
	for _, h := range hits {
		all = append(all, found{
			Workspace: s.WorkspaceName, Session: s.Name, SessionID: s.ID, DeletedAt: s.DeletedAt,
			Offset: h.Offset, Times: h.Times, Line: h.Line,
		})
	}
	return all, err
}

func (c commands) printFound(all []found) error {
	return c.Print(map[string]any{"matches": cli.NotNil(all)}, func() error {
		if len(all) == 0 {
			return nil
		}
		t := c.Table("SESSION", "OFFSET", "TIMES", "LINE")
		for _, f := range all {
			label := f.Workspace + "/" + f.Session
			switch {
			case f.Workspace == "":
				label = f.SessionID
			case f.DeletedAt != nil:
				label += " (deleted: " + f.SessionID + ")"
			}
			t.Row(label, strconv.FormatUint(f.Offset, 10), strconv.Itoa(f.Times), f.Line)
		}
		return t.Flush()
	})
}
