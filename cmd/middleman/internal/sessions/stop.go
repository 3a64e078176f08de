package sessions

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/attention"
	"middleman/internal/audit"
)

func (c commands) stopCommand() *cobra.Command {
	var (
		grace time.Duration
		all   bool
	)
	cmd := &cobra.Command{
		Use:     "stop TARGET... [--grace DUR] | stop --all [--grace DUR]",
		Aliases: []string{"kill"},
		Short:   "End a session's program and everything that it started",
		Long: `End a session's program and everything that it started. Each of several targets is
stopped by itself: an error with one does not keep the others running. --all stops every
session of this machine, several at a time, and last the one that it is typed in; what
is on other machines goes on. Workspaces stay, and so does what was printed. An agent
that a reboot has ended, and that "can be resumed", is listed as ended after a stop.`,
		RunE: func(cmd *cobra.Command, given []string) error {
			switch {
			case grace < 0:
				return cli.Usagef("--grace is %s: it must be 0 or more", grace)
			case all && len(given) > 0:
				return cli.Usagef("--all takes no TARGET: it stops every session")
			case !all && len(given) == 0:
				return cli.Usagef("stop needs a TARGET, or --all")
			case grace == 0 && cmd.Flags().Changed("grace"):
				grace = -1 // no grace; 0 would mean the session's own
			}
			if all {
				return c.stopAll(cmd.Context(), grace)
			}
			return c.Each(cmd.Context(), given, "stopped", func(name string) error {
				t, err := catalog.FindExact(cmd.Context(), c.CLI, name)
				if err != nil {
					return err
				}
				return c.stopped(t, c.stop(cmd.Context(), t, grace))
			})
		},
	}
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long to wait before killing (default: the session's own)")
	cmd.Flags().BoolVar(&all, "all", false, "stop every session of this machine")
	return cmd
}

// stop ends a session. That of an agent that was interrupted has ended already: the
// server records that nobody is to resume it.
func (c commands) stop(ctx context.Context, t catalog.Target, grace time.Duration) error {
	s := t.Shown
	if s.Conversation != "" && s.Runtime == "" && c.Runtime == "" {
		if status, err := t.Session.Status(ctx); err == nil {
			s.SetStatus(status)
		}
		if attention.Interrupted(s) {
			server, err := c.Server(ctx)
			if err != nil {
				return err
			}
			defer server.Close()
			return server.Session(s.ID).Stop(ctx, grace)
		}
	}
	return t.Session.Stop(ctx, grace)
}

// stopped records that a session was asked to stop, and says of an error whose it is.
func (c commands) stopped(t catalog.Target, err error) error {
	c.Record(audit.SessionStop, "session "+t.Shown.ID+" name "+t.Label(), err)
	if err != nil {
		return fmt.Errorf("stop %s: %w", t.Label(), err)
	}
	return nil
}

// stopsAtOnce is how many sessions are stopped at the same time.
const stopsAtOnce = 16

// stopAll stops every session whose program runs, or has left processes that do.
func (c commands) stopAll(ctx context.Context, grace time.Duration) error {
	list, err := catalog.Read(ctx, c.CLI)
	if err != nil {
		return err
	}
	var targets, own []catalog.Target // own is the session that this command runs in
	for _, s := range list.Sessions {
		if s.State.Ended() && len(s.Left) == 0 {
			continue
		}
		t, err := catalog.Direct(c.CLI, s)
		switch {
		case err != nil:
			return err
		case s.ID == outerSession():
			own = append(own, t)
		default:
			targets = append(targets, t)
		}
	}
	errs := stopAtOnce(ctx, targets, grace)
	targets = append(targets, own...)
	if len(targets) == 0 {
		fmt.Fprintln(c.Errs, "no session runs")
		return nil
	}
	labels := make([]string, len(targets))
	for i, t := range targets {
		labels[i] = t.Label()
	}
	next := 0
	return c.EachTold(ctx, labels, "stopped", func(string) error {
		t := targets[next]
		if next == len(errs) {
			errs = append(errs, t.Session.Stop(ctx, grace)) // which ends this command too
		}
		next++
		return c.stopped(t, errs[next-1])
	})
}

// stopAtOnce stops sessions, several at a time, and returns the error of each.
func stopAtOnce(ctx context.Context, targets []catalog.Target, grace time.Duration) []error {
	errs := make([]error, len(targets))
	slots := make(chan struct{}, stopsAtOnce)
	var wg sync.WaitGroup
	for i, t := range targets {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = t.Session.Stop(ctx, grace)
		})
	}
	wg.Wait()
	return errs
}
