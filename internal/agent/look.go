package agent

import (
	"context"
	"strings"
	"time"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// Report is what the program of a session does, and the evidence for it.
type Report struct {
	Session string `json:"session"`
	Profile string `json:"profile,omitempty" doc:"The profile whose rules were tried; unset if there is none"`
	Status
	Heard    *Status   `json:"heard,omitempty" doc:"What the newest hook said, whether it is believed or not"`
	Title    string    `json:"title,omitempty" doc:"The terminal's title"`
	Progress string    `json:"progress,omitempty" doc:"The progress that the program reports by OSC 9;4: state;percent"`
	Screen   []string  `json:"screen,omitempty" doc:"The rows of the present screen"`
	AsOf     time.Time `json:"as_of"`
}

// Gather asks a session for what there is to be judged. It may block until ctx
// ends. An error is the session's.
func Gather(ctx context.Context, session terminal.Session) (Evidence, error) {
	status, err := session.Status(ctx)
	if err != nil {
		return Evidence{}, err
	}
	if status.State.Ended() {
		return Ended(status.Exit), nil
	}
	screen, err := session.Capture(ctx, terminal.CaptureOptions{Format: terminal.FormatText})
	if err != nil {
		return Evidence{}, err
	}
	return Evidence{Title: status.Title, Progress: vt.ParseProgress(status.Progress), Screen: strings.Split(strings.TrimRight(string(screen.Data), "\n"), "\n")}, nil
}

// Ended is the evidence of an end. exit is nil if the exit is not known.
func Ended(exit *terminal.Exit) Evidence {
	if exit == nil {
		return Evidence{Ended: true, Gone: true}
	}
	return Evidence{Ended: true, Stopped: exit.Stopped, Code: exit.Code, Signal: exit.SignalName, Title: exit.Title}
}

// Tell makes the report of a session from the evidence, and from what its tracker
// has made of that.
func (p Profile) Tell(session string, e Evidence, t Tracker) Report {
	r := Report{Session: session, Profile: p.Name, Status: t.Now, Title: e.Title, Screen: e.Screen, AsOf: time.Now().UTC()}
	if t.Heard.State != "" {
		r.Heard = &t.Heard
	}
	if e.Progress != (vt.Progress{}) {
		r.Progress = e.Progress.String()
	}
	return r
}
