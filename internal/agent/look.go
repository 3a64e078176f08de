package agent

import (
	"context"
	"strings"
	"time"

	"middleman/terminal"
)

// Report is what the program of a session does, and the evidence for it.
type Report struct {
	Session string    `json:"session"`
	Profile string    `json:"profile,omitempty" doc:"The profile whose rules were tried; unset if there is none"`
	State   State     `json:"state" enum:"working,waiting,idle,done,failed,lost,unknown"`
	Source  string    `json:"source,omitempty" enum:"exit,title,screen" doc:"What decided; unset if the state is unknown"`
	Rule    string    `json:"rule,omitempty" doc:"The rule that decided"`
	Reason  string    `json:"reason,omitempty" doc:"One line for the user"`
	Title   string    `json:"title,omitempty" doc:"The terminal's title"`
	Screen  []string  `json:"screen,omitempty" doc:"The rows of the present screen"`
	AsOf    time.Time `json:"as_of"`
}

// Look reports what a session's program does now. It asks the session, which may
// block until ctx ends. An error is the session's.
func (p Profile) Look(ctx context.Context, session terminal.Session) (Report, error) {
	status, err := session.Status(ctx)
	if err != nil {
		return Report{}, err
	}
	e := Evidence{Ended: status.State.Ended(), Gone: status.Exit == nil, Title: status.Title}
	if exit := status.Exit; exit != nil {
		e.Code, e.Signal = exit.Code, exit.SignalName
	}
	if !e.Ended {
		screen, err := session.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatText})
		if err != nil {
			return Report{}, err
		}
		e.Screen = strings.Split(strings.TrimRight(string(screen.Data), "\n"), "\n")
	}
	s := p.Judge(e)
	if s.State == Unknown {
		s.Reason = p.silence()
	}
	return Report{
		Session: status.ID, Profile: p.Name, State: s.State, Source: s.Source, Rule: s.Rule, Reason: s.Reason,
		Title: e.Title, Screen: e.Screen, AsOf: time.Now().UTC(),
	}, nil
}

// silence says why nothing is known of a program that runs.
func (p Profile) silence() string {
	switch {
	case p.Name == "":
		return "no profile starts this program, so there are no rules for it"
	case !p.HasRules():
		return "profile " + p.Name + " has no rules"
	}
	return "no rule of profile " + p.Name + " matches"
}
