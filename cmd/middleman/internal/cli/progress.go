package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
)

const (
	progressAfter = time.Second // an operation shows its stages after this time
	progressPoll  = time.Second // how often to ask for them
)

// Progress shows the stages of a long operation on standard error. An operation
// that takes less than a second shows nothing.
type Progress struct {
	w     io.Writer
	doing string
	began time.Time
	after time.Duration
	live  bool   // w is a terminal: show one line that changes
	name  string // the workspace's, once that is known
	shown string
}

// Progress starts to show an operation on a workspace. doing names it, such as
// "making".
func (c *CLI) Progress(doing string) *Progress { return newProgress(c.BytesErrs, doing) }

func newProgress(w io.Writer, doing string) *Progress {
	f, ok := w.(*os.File)
	return &Progress{w: w, doing: doing, began: time.Now(), after: progressAfter, live: ok && viewer.IsTerminal(f)}
}

// During calls do. While it runs, During shows the stages of the workspace with
// that id. It ignores errors when it asks for them, and returns do's error.
func (p *Progress) During(ctx context.Context, server *client.Client, id string, do func() error) error {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		next := time.NewTimer(p.after)
		defer next.Stop()
		for {
			select {
			case <-next.C:
			case <-ctx.Done():
				return
			}
			if w, err := server.Workspace(ctx, id); err == nil {
				w.Stages = since(p.began, w.Stages)
				p.Workspace(w)
			}
			next.Reset(progressPoll)
		}
	}()
	err := do()
	stop()
	<-ended
	p.End()
	return err
}

// since returns the stages that began at or after then. If there are none it
// returns a stage "look".
func since(then time.Time, stages []api.Stage) []api.Stage {
	for i, stage := range stages {
		if !stage.StartedAt.Before(then) {
			return stages[i:]
		}
	}
	return []api.Stage{{Name: "look"}}
}

// Workspace shows the current stage of w.
func (p *Progress) Workspace(w api.Workspace) {
	p.name = w.Label
	if len(w.Stages) == 0 || time.Since(p.began) < p.after {
		return
	}
	last := w.Stages[len(w.Stages)-1]
	stage := last.Name
	if last.State == "running" && last.Detail != "" {
		stage += " " + last.Detail
	}
	if stage == p.shown {
		return
	}
	p.shown = stage
	text := plaintext.Line(fmt.Sprintf("%s %s: %s, %s", p.doing, w.Label, stage, time.Since(p.began).Round(time.Second)))
	if f, ok := p.w.(*os.File); ok && p.live {
		fmt.Fprintf(p.w, "\r\x1b[K%s", viewer.Fit(text, max(1, int(viewer.Size(f).Cols)-1)))
		return
	}
	fmt.Fprintln(p.w, text)
}

// Making returns err, the error of a creation. For an interrupt it says that the
// server goes on, and how to stop that.
func (p *Progress) Making(err error) error {
	if p.name == "" {
		return Interrupted(err, "if the server has begun to make the workspace it goes on; `middleman ls --all` shows it")
	}
	return Interrupted(err, fmt.Sprintf("the server goes on making %s; `middleman rm --stop-sessions %s` ends its setup and deletes it", p.name, p.name))
}

// End clears the line that shows the stage.
func (p *Progress) End() {
	if p.live && p.shown != "" {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
