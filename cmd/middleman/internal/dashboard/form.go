package dashboard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/agent"
	"middleman/internal/plaintext"
)

// The fields of the form for a new workspace.
const (
	fieldName = iota
	fieldProfile
	fieldPrompt
	fieldDirectory
	fields
)

// form asks for a new workspace.
type form struct {
	values [fields]entry
	at     int
	known  []string // profiles
}

func (d *dashboard) newForm() *form {
	f := &form{}
	for _, p := range agent.Profiles(d.cli.Config.Profiles, nil).List() {
		f.known = append(f.known, plaintext.Line(p.Name))
	}
	f.values[fieldDirectory].set(d.startDirectory())
	return f
}

// startDirectory is where a new workspace is made of: the directory that the user
// stands in if a repository has it, else the repository of the selected row.
func (d *dashboard) startDirectory() string {
	for _, w := range d.list.Workspaces {
		if below, err := filepath.Rel(w.Repository, d.here); w.Repository != "" && err == nil && filepath.IsLocal(below) {
			return d.here
		}
	}
	if r, ok := d.selected(); ok && r.workspace.Repository != "" && !inRepository(d.here) {
		return r.workspace.Repository
	}
	return d.here
}

// inRepository reports whether dir is in a git repository.
func inRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return false
		}
		dir = above
	}
}

func (f *form) paste(d *dashboard, text string) { d.note = f.values[f.at].insert(text) }

func (f *form) press(d *dashboard, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		d.pane = nil
	case "tab", "down":
		f.at = (f.at + 1) % fields
	case "shift+tab", "up":
		f.at = (f.at + fields - 1) % fields
	case "enter":
		if f.at < fieldPrompt {
			f.at++
			return nil
		}
		d.pane = nil
		return d.make(f)
	default:
		f.values[f.at].press(k)
	}
	return nil
}

// value returns what was entered.
func (f *form) value(field int) string { return strings.TrimSpace(f.values[field].text()) }

// args is the command line that the form stands for.
func (f *form) args(d *dashboard) []string {
	args := []string{"new", "-d", "-C", f.value(fieldDirectory), "--cols", fmt.Sprint(d.cols), "--rows", fmt.Sprint(d.rows)}
	profile, prompt := f.value(fieldProfile), f.value(fieldPrompt)
	if profile != "" {
		args = append(args, "-p", profile)
	}
	if name := f.value(fieldName); name != "" {
		args = append(args, name)
	}
	switch {
	case prompt == "":
	case profile == "" || profile == agent.Shell:
		args = append(args, "--", "/bin/sh", "-c", prompt)
	default:
		args = append(args, "--", prompt)
	}
	return args
}

// make makes the workspace, and selects it.
func (d *dashboard) make(f *form) tea.Cmd {
	d.fresh = fresh{making: true}
	return d.run("making a workspace", func(r result) tea.Cmd {
		if r.err != nil || r.code != 0 {
			d.forgetFresh()
			d.pane, d.note = f, r.problem() // so that it can be corrected
			return nil
		}
		name := strings.TrimSpace(r.out)
		d.fresh = fresh{wanted: name, held: d.fresh.held}
		d.note = "made " + name
		return nil
	}, f.args(d)...)
}

func (f *form) draw(d *dashboard) ([]string, *tea.Cursor) {
	names := [fields]string{"name", "profile", "prompt", "directory"}
	about := [fields]string{
		"of the workspace; empty: one is chosen",
		"empty: your shell; or " + strings.Join(f.known, " "),
		"the first prompt for the agent; without a profile, a command",
		"the repository, or a directory in it",
	}
	const indent = 11
	lines := []string{rule("New workspace", d.cols)}
	var cursor *tea.Cursor
	for i := range names {
		text, at := f.values[i].draw(d.cols - indent)
		mark := " "
		if i == f.at {
			mark = ">"
			cursor = tea.NewCursor(indent+at, len(lines))
		}
		lines = append(lines, viewer.Fit(mark+viewer.Pad(names[i], indent-1)+text, d.cols), "\x1b[2m"+viewer.Fit(strings.Repeat(" ", indent)+about[i], d.cols)+"\x1b[m")
	}
	for len(lines) < d.rows-1 {
		lines = append(lines, "")
	}
	return append(lines, d.foot("Enter goes on, at prompt and directory it makes it  Tab next  Esc goes back")), cursor
}
