package catalog

import (
	"context"
	"slices"
	"strings"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/terminal"
)

// unheard is why less is known of a program with hooks where no server answers.
const unheard = "no server answers, so what its hooks said is not known: `middleman server start`"

// LookAt judges without a server what the program of a session does: by the rules of
// its profile and the present screen alone, since nobody keeps what its hooks say. Where
// hooks could say more than the screen does, the reason says so.
func LookAt(ctx context.Context, c *cli.CLI, session terminal.Session, shown api.Session) (agent.Report, error) {
	profile := profileOf(c, shown)
	e, err := agent.Gather(ctx, session)
	if err != nil {
		return agent.Report{}, err
	}
	now := profile.Judge(e)
	if profile.ToldByHooks() && !now.Ended() && !now.Certain() {
		if now.Reason != "" {
			now.Reason += "; "
		}
		now.Reason += unheard
	}
	return profile.Tell(shown.ID, e, agent.Tracker{Now: now}), nil
}

// Unheard returns what a list of these sessions says about those whose hooks LookAt
// could not ask for, "" if there are none.
func Unheard(sessions []api.Session) string {
	if !slices.ContainsFunc(sessions, func(s api.Session) bool { return s.Agent != nil && strings.HasSuffix(s.Agent.Reason, unheard) }) {
		return ""
	}
	return "no server answers, so what the hooks of agents said is not known; `middleman server start` starts one"
}

// profileOf returns the profile of a session, or of what its shell runs.
func profileOf(c *cli.CLI, shown api.Session) agent.Profile {
	profiles := agent.Profiles(c.Config.Profiles, nil)
	if attention.IsShell(shown.Profile, shown.Argv) {
		return profiles.For("", []string{shown.Foreground})
	}
	return profiles.For(shown.Profile, shown.Argv)
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
