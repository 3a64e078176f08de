package dashboard

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/workspaces"
	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/internal/plaintext"
)

// The columns of a row, in their order.
const (
	colName = iota
	colState
	colAge
	colWork
	colRuns
	colBranch
	colRepo
	columns
)

// row is a session, or a workspace that has none. Its cells are safe to print.
type row struct {
	id        string // the TARGET that means the session, or a workspace without one
	session   api.Session
	workspace api.Workspace
	asks      []api.Approval // what its agent waits to be allowed, oldest first
	group     attention.Group
	since     time.Time
	cells     [columns]string
	found     string // what a search has found in its output
}

func (r row) hasSession() bool { return r.session.ID != "" }

// live reports whether its program may run.
func (r row) live() bool { return r.hasSession() && !r.session.State.Ended() }

// target returns the TARGET that an id on a runtime has.
func target(runtime, id string) string {
	if runtime == "" {
		return id
	}
	return runtime + ":" + id
}

// rowsOf makes the rows of a list, in the order in which they are shown. asked is what
// agents wait to be allowed.
func rowsOf(list catalog.List, asked []api.Approval) []row {
	asks := map[string][]api.Approval{}
	for _, a := range slices.SortedFunc(slices.Values(asked), olderFirst) {
		asks[a.SessionID] = append(asks[a.SessionID], a)
	}
	byID := make(map[string]api.Workspace, len(list.Workspaces))
	for _, w := range list.Workspaces {
		byID[target(w.Runtime, w.ID)] = w
	}
	rows := make([]row, 0, len(list.Sessions))
	used := map[string]bool{}
	for _, s := range list.Sessions {
		of := target(s.Runtime, s.WorkspaceID)
		used[of] = true
		var waits []api.Approval
		if s.Runtime == "" { // another machine may say any id
			waits = asks[s.ID]
		}
		rows = append(rows, sessionRow(s, byID[of], waits))
	}
	for _, w := range list.Workspaces {
		if !used[target(w.Runtime, w.ID)] {
			rows = append(rows, workspaceRow(w))
		}
	}
	slices.SortStableFunc(rows, compare)
	return rows
}

// compare orders rows as every list does.
func compare(a, b row) int { return strings.Compare(a.order(), b.order()) }

func (r row) order() string { return attention.Order(r.group, r.since, r.cells[colName], r.id) }

func olderFirst(a, b api.Approval) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
}

// sessionRow makes the row of a session. A request of its agent needs the user,
// whatever else is known of the agent.
func sessionRow(s api.Session, w api.Workspace, asks []api.Approval) row {
	r := row{id: target(s.Runtime, s.ID), session: s, workspace: w}
	var state string
	r.group, state, r.since = attention.Judge(s)
	if len(asks) > 0 && r.live() {
		r.asks, r.group, r.since = asks, attention.NeedsYou, asks[0].CreatedAt
		state = "asks: " + asks[0].Summary
		if n := len(asks); n > 1 {
			state = fmt.Sprintf("asks (1 of %d): %s", n, asks[0].Summary)
		}
	}
	r.fill(catalog.Label(s), state, runs(s))
	return r
}

func workspaceRow(w api.Workspace) row {
	r := row{id: target(w.Runtime, w.ID), workspace: w}
	var state string
	r.group, state, r.since = attention.JudgeEmpty(w)
	r.fill(w.Label, state, "")
	return r
}

func (r *row) fill(name, state, program string) {
	work := ""
	if r.workspace.ID != "" {
		work = workspaces.Work(r.workspace)
	}
	for i, text := range [columns]string{colName: name, colState: state, colWork: work, colRuns: program, colBranch: workspaces.Branch(r.workspace), colRepo: r.workspace.RepoName} {
		r.cells[i] = plaintext.Line(text)
	}
}

// runs says what a session runs: its profile, else its program and arguments, and what that
// runs in its place.
func runs(s api.Session) string {
	text := s.Profile
	if text == "" && len(s.Argv) > 0 {
		text = strings.Join(append([]string{filepath.Base(s.Argv[0])}, s.Argv[1:]...), " ")
	}
	if s.Foreground != "" {
		text += ": " + s.Foreground
	}
	return text
}

// matches reports whether each of words is in the row.
func (r row) matches(words []string) bool {
	if len(words) == 0 || r.found != "" {
		return true
	}
	cells := r.cells
	cells[colAge] = r.group.String()
	text := strings.ToLower(strings.Join(cells[:], " "))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// aged is the age of a row as it is shown.
type aged struct {
	since time.Time
	text  string
}

// tellAges sets the ages of the rows. Unless anew it leaves those as they were that
// count from the same time, so that a list does not change with each second.
func tellAges(rows []row, before map[string]aged, anew bool) map[string]aged {
	now := make(map[string]aged, len(rows))
	for i, r := range rows {
		a := before[r.id]
		if anew || !a.since.Equal(r.since) || a.text == "" {
			a = aged{r.since, cli.Age(r.since)}
		}
		now[r.id], rows[i].cells[colAge] = a, a.text
	}
	return now
}
