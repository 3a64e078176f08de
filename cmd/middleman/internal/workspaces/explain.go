package workspaces

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/plaintext"
	"middleman/workspace"
)

// ExplainSkipped prints to standard error what a new workspace lacks, and why.
func ExplainSkipped(c *cli.CLI, w api.Workspace) {
	last := map[string]api.Stage{} // a stage may have been repeated
	for _, stage := range w.Stages {
		last[stage.Name] = stage
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if why, skipped := strings.CutPrefix(last[name].Detail, workspace.Skipped); skipped {
			fmt.Fprintf(c.Errs, "middleman: %s: %s: %s\n", w.Label, name, plaintext.Line(why))
		}
		if name == "session" && last[name].State == "done" {
			ExplainHost(c, w.Label, last[name].Detail)
		}
	}
}

// ExplainHost prints to standard error why a session is not on the backend that
// was tried first: its note, if it has one.
func ExplainHost(c *cli.CLI, label, note string) {
	if note != "" {
		fmt.Fprintf(c.Errs, "middleman: %s: %s\n", label, plaintext.Line(note))
	}
}

// LossLines lists what is lost, one line for each thing. The lines are safe for
// a terminal.
func LossLines(l workspace.Loss) []string {
	var lines []string
	for _, kind := range []struct {
		name  string
		items []string
		note  string
	}{{"changed", l.Changed, ""}, {"untracked", l.Untracked, ""}, {"stash", l.Stashed, " (it stays in the repository, without its branch)"}, {"commit", l.Commits, ""}, {"ignored", l.Large, ""},
		{"ignored", l.Ignored, ""}, {"commit of the reflog", l.Abandoned, ""}, {"commit whose changes are in the base:", l.Merged, ""}} {
		for _, item := range kind.items {
			lines = append(lines, lossLine(kind.name, item, kind.note))
		}
	}
	if l.Operation != "" {
		lines = append(lines, plaintext.Line(l.Operation)+" in progress")
	}
	if l.Truncated {
		lines = append(lines, "and more")
	}
	return lines
}

// lossLine is the line of an item of a kind. What is in the private git directory of a
// sandbox says itself what it is, unless it is a commit or a stash of those that stop a
// delete.
func lossLine(kind, item, note string) string {
	own, is := strings.CutPrefix(item, workspace.InSandbox)
	switch {
	case !is:
		return kind + " " + plaintext.Line(item) + note
	case kind == "stash" || kind == "commit":
		return "in its sandbox: " + kind + " " + plaintext.Line(own)
	}
	return "in its sandbox: " + plaintext.Line(own)
}

// ExplainLeftover says why a leftover may be removed or stays, what is lost
// with it, and what helps.
func ExplainLeftover(l workspace.Leftover) string {
	why := plaintext.Line(l.Why)
	if l.Final != "" {
		why += "; lost for good: " + l.Final
	}
	if l.Hint != "" && !l.Prunable {
		why += "; " + plaintext.Line(l.Hint)
	}
	return why
}
