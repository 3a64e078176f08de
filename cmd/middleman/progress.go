package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
)

// progressAfter is how long a creation may take before its stages are shown.
const progressAfter = time.Second

// progress shows the stages of a creation that takes long.
type progress struct {
	w     io.Writer
	began time.Time
	live  bool // w is a terminal: one line that changes
	shown string
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, began: time.Now(), live: ok && viewer.IsTerminal(f)}
}

// workspace shows the stage that a workspace's creation is in.
func (p *progress) workspace(w api.Workspace) {
	if len(w.Stages) == 0 || time.Since(p.began) < progressAfter {
		return
	}
	last := w.Stages[len(w.Stages)-1]
	stage := last.Name
	if last.State == "running" && last.Detail != "" {
		stage += " " + printable(last.Detail)
	}
	if stage == p.shown {
		return
	}
	p.shown = stage
	text := fmt.Sprintf("making %s: %s, %s", w.Name, stage, time.Since(p.began).Round(time.Second))
	if p.live {
		fmt.Fprintf(p.w, "\r\x1b[K%s", text)
		return
	}
	fmt.Fprintln(p.w, text)
}

// end takes the line away.
func (p *progress) end() {
	if p.live && p.shown != "" {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
