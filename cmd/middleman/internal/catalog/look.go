package catalog

import (
	"context"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/terminal"
)

// LookAt judges without a server what the program of a session does: by the rules of
// its profile and the present screen alone, since nobody keeps what its hooks say.
func LookAt(ctx context.Context, c *cli.CLI, session terminal.Session, shown api.Session) (agent.Report, error) {
	profile := profileOf(c, shown)
	e, err := agent.Gather(ctx, session)
	if err != nil {
		return agent.Report{}, err
	}
	return profile.Tell(shown.ID, e, agent.Tracker{Now: profile.Judge(e)}), nil
}

func profileOf(c *cli.CLI, shown api.Session) agent.Profile {
	return agent.Profiles(c.Config.Profiles, nil).For(shown.Profile, shown.Argv)
}

// agentOf returns what lists show of the program of a running session, as a server has
// it, and nil for a program of which nothing can be known.
func agentOf(ctx context.Context, c *cli.CLI, session terminal.Session, shown api.Session) *agent.Status {
	if !profileOf(c, shown).HasRules() {
		return nil
	}
	report, err := LookAt(ctx, c, session, shown)
	if err != nil {
		return &agent.Status{State: agent.Unknown, Reason: err.Error()}
	}
	return &report.Status
}
