package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/build"
	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/audit"
	"middleman/ptyowner"
)

// upgradeTime limits the upgrade of one owner, which takes milliseconds.
const upgradeTime = 30 * time.Second

// upgraded is the result for one session's owner.
type upgraded struct {
	Session string `json:"session"`
	Name    string `json:"name"` // WORKSPACE/SESSION, or the id
	From    string `json:"from"`
	To      string `json:"to"`
	Result  string `json:"result"` // upgraded, current, would-upgrade, failed
	Error   string `json:"error,omitempty"`
}

func (c commands) upgradeCommand() *cobra.Command {
	var force, dry bool
	cmd := &cobra.Command{
		Use:   "upgrade [TARGET...] [--force] [-n]",
		Short: "Let the owners of running sessions switch to this build",
		Long: "Let the owners of running sessions execute this build in place. An owner is the process that holds a\n" +
			"session's terminal. The process, program, terminal and viewers stay; viewers notice a pause of some\n" +
			"milliseconds. Nothing else in middleman needs it: owners of earlier builds work with later servers.\n" +
			"An owner that cannot switch goes on with its own build. Without TARGET: every running session.",
		Args: cli.Args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, given []string) error {
			if runtime.GOOS == "windows" {
				return fmt.Errorf("no process of Windows can become another, so owners go on with their own build, which this one reaches: %w", errors.ErrUnsupported)
			}
			sessions, err := c.owned(cmd.Context(), given)
			if err != nil {
				return err
			}
			return c.upgrade(cmd.Context(), sessions, force, dry)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also switch owners that run this very executable already")
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "only print what would be done")
	return cmd
}

// owned returns the running sessions that targets name; without targets all.
func (c commands) owned(ctx context.Context, targets []string) ([]catalog.Target, error) {
	list, err := catalog.Read(ctx, c.CLI)
	if err != nil {
		return nil, err
	}
	shown := list.Sessions
	if len(targets) > 0 {
		shown = nil
	}
	for _, arg := range targets {
		s, err := list.Session(arg)
		if err != nil {
			return nil, err
		}
		if s.State.Ended() {
			return nil, fmt.Errorf("session %s is %s: it has no owner to upgrade", arg, s.State)
		}
		shown = append(shown, s)
	}
	return c.ownedOf(shown)
}

func (c commands) ownedOf(sessions []api.Session) (owned []catalog.Target, err error) {
	for _, s := range sessions {
		if s.State.Ended() {
			continue
		}
		t, err := catalog.Direct(c.CLI, s)
		if err != nil {
			return nil, err
		}
		owned = append(owned, t)
	}
	return owned, nil
}

// upgrade upgrades one owner after the other, and reports the result of each.
func (c commands) upgrade(ctx context.Context, sessions []catalog.Target, force, dry bool) error {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find our own executable: %w", err)
	}
	b := c.Owners(nil) // finds owners with any host
	results := []upgraded{}
	failed := 0
	for _, t := range sessions {
		u := upgradeOne(ctx, b, t, executable, force, dry)
		if u.Result == "upgraded" || u.Result == "failed" {
			var why error
			if u.Error != "" {
				why = errors.New(u.Error)
			}
			c.Record(audit.Upgrade, "session "+u.Session+" build "+u.From+" to "+u.To, why)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if u.Result == "failed" {
			failed++
			fmt.Fprintf(c.Errs, "middleman: %s was not upgraded and goes on with build %s: %s\n", u.Name, u.From, u.Error)
		} else if !c.JSON {
			fmt.Fprintf(c.Out, "%s\t%s\t%s -> %s\n", u.Name, u.Result, u.From, u.To)
		}
		results = append(results, u)
	}
	if c.JSON {
		err = c.PrintJSON(map[string]any{"sessions": results})
	}
	if failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d owners were not upgraded", failed, len(sessions)))
	}
	return err
}

func upgradeOne(ctx context.Context, b *ptyowner.Backend, t catalog.Target, executable string, force, dry bool) upgraded {
	u := upgraded{Session: t.Shown.ID, Name: t.Label(), To: build.Version(), Result: "upgraded"}
	same, from, err := b.Runs(t.Shown.ID, executable)
	u.From = from
	switch {
	case err != nil:
	case same && !force:
		u.Result = "current"
		return u
	case dry:
		u.Result = "would-upgrade"
		return u
	default:
		ctx, cancel := context.WithTimeout(ctx, upgradeTime)
		defer cancel()
		var done ptyowner.Upgrade
		if done, err = b.Upgrade(ctx, t.Shown.ID, executable); err == nil {
			u.From, u.To = done.From, done.To
		}
	}
	if err != nil {
		u.Result, u.To, u.Error = "failed", u.From, err.Error()
	}
	return u
}
