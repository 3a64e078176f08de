package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"middleman/internal/api"
	"middleman/internal/egress"
	"middleman/internal/names"
	"middleman/internal/setup"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/terminal/await"
	"middleman/workspace"
)

// Queries: they change nothing.

const (
	// defaultPairs and maxPairs are the default and the largest number of
	// workspaces in one page of a forecast.
	defaultPairs = 20
	maxPairs     = 100
)

// StatusQuery selects the git status that an answer about workspaces contains.
type StatusQuery struct {
	Status bool // the cached status; an old one is refreshed in the background
	Fresh  bool // with Status: refresh it first
}

// ListWorkspaces returns a page of workspaces, oldest first.
func (s *App) ListWorkspaces(ctx context.Context, page store.Page, q StatusQuery) (api.Workspaces, error) {
	list, next, err := s.Store.Workspaces(ctx, page)
	out := api.Workspaces{Workspaces: []api.Workspace{}, Next: next}
	statuses := s.statuses(ctx, list, q)
	all := s.named(ctx)
	for i, w := range list {
		v := s.viewAmong(all, w)
		v.Status = statuses[i]
		out.Workspaces = append(out.Workspaces, v)
	}
	return out, err
}

// ListDeleted returns a page of the deleted workspaces that can be restored or of
// whose sessions transcripts are kept, in the order of their deletion.
func (s *App) ListDeleted(ctx context.Context, page store.Page) (api.Workspaces, error) {
	list, next, err := s.Store.DeletedWorkspaces(ctx, page)
	out := api.Workspaces{Workspaces: []api.Workspace{}, Next: next}
	all, listErr := s.Store.DeletedNames(ctx)
	if err = errors.Join(err, listErr); err != nil {
		return out, err
	}
	for _, d := range list {
		v := s.viewAmong(names.New(all), d.Workspace)
		v.DeletedAt, v.NotRestorable = &d.DeletedAt, d.RestoreFrom == workspace.FromNothing
		out.Workspaces = append(out.Workspaces, v)
	}
	return out, err
}

// Workspace returns a workspace with its stages and sessions. While the
// workspace is being made or restored, it waits for that, at most for limit.
func (s *App) Workspace(ctx context.Context, id string, limit time.Duration, q StatusQuery) (api.Workspace, error) {
	w, err := s.waitCreated(ctx, id, limit)
	if err != nil {
		return api.Workspace{}, err
	}
	v, err := s.wholeWorkspace(ctx, w)
	v.Status = s.statuses(ctx, []workspace.Workspace{w}, q)[0]
	return v, err
}

// SessionQuery selects what an answer about sessions contains.
type SessionQuery struct {
	Recorded bool // only what is recorded; no session is asked
}

// ListSessions returns a page of the sessions of one workspace, or of all
// workspaces where workspaceID is "", oldest first.
func (s *App) ListSessions(ctx context.Context, workspaceID string, page store.Page, q SessionQuery) (api.Sessions, error) {
	if workspaceID != "" {
		if _, err := s.Store.Workspace(ctx, workspaceID); err != nil {
			return api.Sessions{}, err
		}
	}
	rows, next, err := s.Store.Sessions(ctx, workspaceID, page)
	if err != nil {
		return api.Sessions{}, err
	}
	workspaces, err := s.Store.Names(ctx)
	if err != nil {
		return api.Sessions{}, err
	}
	set, labels := names.New(workspaces), map[string]string{}
	for _, w := range workspaces {
		labels[w.ID] = set.Label(w)
	}
	if !q.Recorded {
		return api.Sessions{Sessions: s.sessionViews(ctx, rows, labels), Next: next}, nil
	}
	views := make([]api.Session, len(rows))
	for i, row := range rows {
		views[i] = s.recordedView(ctx, row, labels[row.WorkspaceID])
	}
	return api.Sessions{Sessions: views, Next: next}, nil
}

// ListTranscripts returns a page of the sessions of deleted workspaces, oldest
// first.
func (s *App) ListTranscripts(ctx context.Context, page store.Page) (api.Sessions, error) {
	list, next, err := s.Store.Transcripts(ctx, "", page)
	out := api.Sessions{Sessions: []api.Session{}, Next: next}
	labels := s.deletedLabels(ctx)
	for _, t := range list {
		v := RecordedSession(t.Session, labels[t.WorkspaceID])
		v.DeletedAt = &t.DeletedAt
		out.Sessions = append(out.Sessions, v)
	}
	return out, err
}

const (
	searchTime = 20 * time.Second // for which Search reads; what is left then is told
	maxMatches = 1000             // lines that one search returns
	maxLine    = 400              // runes of a line that it returns
)

// Search finds lines in the kept output of all sessions, those of deleted
// workspaces too: the newest sessions first.
func (s *App) Search(ctx context.Context, match func(line []byte) bool) (api.Matches, error) {
	all, err := s.searchable(ctx)
	if err != nil {
		return api.Matches{}, err
	}
	out := api.Matches{Matches: []api.Match{}}
	until := time.Now().Add(searchTime)
	for i, v := range all {
		if len(out.Matches) >= maxMatches || time.Now().After(until) {
			out.Left = len(all) - i
			break
		}
		live, err := s.Terminal(ctx, v.ID)
		var hits []await.Hit
		if err == nil {
			hits, err = await.Find(ctx, live, match)
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			out.Failed = append(out.Failed, v.WorkspaceName+"/"+v.Name+": "+err.Error())
		}
		out.Searched++
		for _, h := range hits[max(0, len(hits)-(maxMatches-len(out.Matches))):] {
			out.Matches = append(out.Matches, api.Match{
				SessionID: v.ID, SessionName: v.Name, WorkspaceName: v.WorkspaceName, DeletedAt: v.DeletedAt,
				Offset: h.Offset, Times: h.Times, Line: beginning(h.Line),
			})
		}
	}
	return out, nil
}

// beginning returns the first maxLine runes of a line, as valid text.
func beginning(line string) string {
	runes := []rune(strings.ToValidUTF8(line, "\uFFFD"))
	return string(runes[:min(len(runes), maxLine)])
}

// searchable returns the records of all sessions, the newest first.
func (s *App) searchable(ctx context.Context) ([]api.Session, error) {
	var all []api.Session
	for _, list := range []func(store.Page) (api.Sessions, error){
		func(p store.Page) (api.Sessions, error) {
			return s.ListSessions(ctx, "", p, SessionQuery{Recorded: true})
		},
		func(p store.Page) (api.Sessions, error) { return s.ListTranscripts(ctx, p) },
	} {
		for page := (store.Page{}); ; {
			part, err := list(page)
			if err != nil {
				return nil, err
			}
			all = append(all, part.Sessions...)
			if part.Next == "" {
				break
			}
			page.Cursor = part.Next
		}
	}
	slices.SortStableFunc(all, func(a, b api.Session) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, nil
}

// maxDenied is how many denials of a network list are told.
const maxDenied = 20

// Session returns a session as it is now, with the names of its variables, also
// one of a deleted workspace.
func (s *App) Session(ctx context.Context, id string) (api.Session, error) {
	row, err := s.Store.Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		t, err := s.Store.Transcript(ctx, id)
		if err != nil {
			return api.Session{}, err
		}
		return s.transcriptView(ctx, t), nil
	}
	if err != nil {
		return api.Session{}, err
	}
	v := s.sessionView(ctx, row, s.workspaceName(ctx, row.WorkspaceID))
	v.Bundle = s.Bundles.Session(ctx, row.Bundle, true)
	if v.Denied, err = egress.ReadDenials(s.Dirs.Denials(id), maxDenied); err != nil {
		s.Log.Warn("read what a network list denied", "session", id, "error", err)
	}
	if b, err := s.backend(row); err == nil {
		if v.Environment, err = b.Session(id).Environment(ctx); err != nil && !errors.Is(err, terminal.ErrNotFound) {
			s.Log.Warn("names of a session's variables", "session", id, "error", err)
		}
	}
	return v, nil
}

// Terminal returns the handle of a session, also of one of a deleted workspace.
// Its methods call the session's backend.
func (s *App) Terminal(ctx context.Context, id string) (terminal.Session, error) {
	row, err := s.Store.Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		var t store.Transcript
		t, err = s.Store.Transcript(ctx, id)
		row = t.Session
	}
	if err != nil {
		return nil, err
	}
	b, err := s.backend(row)
	if err != nil {
		return nil, err
	}
	return b.Session(id), nil
}

// Config returns the configuration in a workspace's checkout.
func (s *App) Config(ctx context.Context, workspaceID string) (api.RepoConfig, error) {
	w, c, err := s.worktreeConfig(ctx, workspaceID)
	return configView(w.Root, c), err
}

// ConfigIn returns the configuration in the checkout that contains dir.
func (s *App) ConfigIn(ctx context.Context, dir string) (api.RepoConfig, error) {
	top, c, err := s.configIn(ctx, dir)
	return configView(top, c), err
}

// Trusted returns all configurations that the user trusts.
func (s *App) Trusted(ctx context.Context) (api.Trusts, error) {
	list, err := s.Store.TrustedConfigs(ctx)
	out := api.Trusts{Trusted: []api.Trust{}}
	for _, c := range list {
		out.Trusted = append(out.Trusted, api.Trust{GitDir: c.GitDir, Hash: c.Hash, Content: string(c.Content), ApprovedAt: c.ApprovedAt})
	}
	return out, err
}

// SetupLog returns the kept output of the last setup or teardown of a workspace.
// If none was run, the error is a *Refusal with api.CodeNotFound.
func (s *App) SetupLog(ctx context.Context, workspaceID string) (api.SetupLog, error) {
	w, err := s.Store.Workspace(ctx, workspaceID)
	if err != nil {
		return api.SetupLog{}, err
	}
	log, err := setup.ReadLog(s.Dirs.SetupLog(w.ID))
	if errors.Is(err, fs.ErrNotExist) {
		err = Refusef(api.CodeNotFound, "nothing was run to set up workspace %s", s.label(ctx, w))
	}
	return api.SetupLog{Text: string(log)}, err
}

// Viewing calls f and returns its error. Stop may cancel f's context at any
// moment. After Stop, Viewing returns ErrStopping without calling f.
func (s *App) Viewing(ctx context.Context, f func(context.Context) error) error {
	return s.watches.within(ctx, f)
}

// Compare compares a workspace as r asks, and calls f with the comparison. The
// comparison is closed when f returns, so f must not keep it.
func (s *App) Compare(ctx context.Context, w workspace.Workspace, r workspace.DiffRequest, f func(context.Context, *workspace.Comparison) error) error {
	return s.Viewing(ctx, func(ctx context.Context) error {
		c, err := s.Workspaces.Compare(ctx, w, r)
		if err != nil {
			return err
		}
		defer c.Close()
		return f(ctx, c)
	})
}

// Commits returns a page of the commits that a workspace has beyond its base of
// comparison, or of those that it lacks, as r asks.
func (s *App) Commits(ctx context.Context, workspaceID string, r workspace.CommitsRequest) (out workspace.Commits, err error) {
	w, err := s.Lookable(ctx, workspaceID)
	if err != nil {
		return out, err
	}
	err = s.Viewing(ctx, func(ctx context.Context) (err error) {
		out, err = s.Workspaces.Commits(ctx, w, r)
		return err
	})
	return out, err
}

// Conflicts forecasts the merge of a workspace with each of a page of the other
// ready workspaces of its repository. They are in the order of their ids; cursor
// is the id to begin at. A limit of 0 means 20; the largest is 100.
func (s *App) Conflicts(ctx context.Context, workspaceID, cursor string, limit int) (out api.Conflicts, err error) {
	w, err := s.Lookable(ctx, workspaceID)
	if err != nil {
		return out, err
	}
	if w.Mode != workspace.ModeWorktree {
		return out, Refusef(api.CodeBadRequest, "workspace %s is not a worktree: only worktrees of one repository can be compared", s.label(ctx, w))
	}
	others, err := s.neighbours(ctx, w)
	if err != nil {
		return out, err
	}
	out = api.Conflicts{Total: len(others)}
	first, _ := slices.BinarySearchFunc(others, cursor, func(other workspace.Workspace, id string) int { return strings.Compare(other.ID, id) })
	page := others[first:]
	if n := min(cmp.Or(limit, defaultPairs), maxPairs); len(page) > n {
		out.Next, page = page[n].ID, page[:n]
	}
	err = s.Viewing(ctx, func(ctx context.Context) (err error) {
		out.Others, err = s.Workspaces.Forecast(ctx, w, page)
		return err
	})
	return out, err
}

// neighbours returns the other ready workspaces of w's repository, ordered by id.
func (s *App) neighbours(ctx context.Context, w workspace.Workspace) ([]workspace.Workspace, error) {
	list, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	list = slices.DeleteFunc(list, func(other workspace.Workspace) bool {
		return other.ID == w.ID || other.GitDir != w.GitDir || other.State != workspace.StateReady
	})
	slices.SortFunc(list, func(a, b workspace.Workspace) int { return strings.Compare(a.ID, b.ID) })
	return list, err
}

// Lookable returns a workspace if it is ready, so that its files can be read;
// otherwise the error is a *Refusal with api.CodeBusy. If its repository is gone
// the code is api.CodeMoved.
func (s *App) Lookable(ctx context.Context, id string) (workspace.Workspace, error) {
	w, err := s.Store.Workspace(ctx, id)
	if err == nil && w.State != workspace.StateReady {
		err = Refusef(api.CodeBusy, "workspace %s is %s: only a ready one can be inspected", s.label(ctx, w), w.State)
	}
	if err == nil {
		if where, unknown := s.Workspaces.Where(w); unknown == nil && where.NoRepository {
			err = Refusef(api.CodeMoved, "workspace %s: %s", s.label(ctx, w), where.Trouble(s.shown(ctx, w)))
		}
	}
	if err == nil {
		_, _ = s.bring(ctx, w) // it is logged, and shown with the workspace
	}
	return w, err
}

// ListApprovals returns a page of what agents ask, oldest first.
func (s *App) ListApprovals(ctx context.Context, q store.ApprovalQuery, page store.Page) (api.Approvals, error) {
	list, next, err := s.Store.Approvals(ctx, q, page)
	out := api.Approvals{Approvals: []api.Approval{}, Next: next}
	for _, a := range list {
		out.Approvals = append(out.Approvals, s.approvalView(a))
	}
	return out, err
}

// Approval returns what an agent asked, and what was decided.
func (s *App) Approval(ctx context.Context, id string) (api.Approval, error) {
	a, err := s.Store.Approval(ctx, id)
	return s.approvalView(a), err
}

// WaitFor is the condition to wait for.
type WaitFor struct {
	Kind       string        // "exit", "text", "regex" or "quiet"
	Value      string        // the text, or the regular expression (RE2; ^ and $ match at each line)
	Scrollback bool          // look for it in the scrollback too
	From       *uint64       // look for it only in what is printed from there on; await.Now is the present head
	Quiet      time.Duration // how long there must be no output
}

// Wait blocks until a condition holds on a session, as package await has it, and
// as "middleman wait" does. After limit the error is a *Refusal with
// api.CodeTimeout. If the session ends and its last screen does not match, it is
// terminal.ErrEnded. A session that is lost counts as ended: the answer says
// which.
func (s *App) Wait(ctx context.Context, session string, what WaitFor, limit time.Duration) (api.Waited, error) {
	live, err := s.Terminal(ctx, session)
	if err != nil {
		return api.Waited{}, err
	}
	condition, err := what.condition()
	if err != nil {
		return api.Waited{}, err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if row, err := s.Store.Session(ctx, session); err == nil {
		condition.Exit = row.Exit
	}
	found, err := await.Wait(limited, live, condition)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return api.Waited{}, Refusef(api.CodeTimeout, "waited %s for %s", limit, what)
	}
	if errors.Is(err, terminal.ErrGone) && condition.Match == nil {
		var status terminal.Status
		status, err = live.Status(ctx)
		found.Offset = status.Head
	}
	if errors.Is(err, terminal.ErrEnded) {
		return api.Waited{}, fmt.Errorf("wait for %s: %w", what, err)
	}
	if err != nil {
		return api.Waited{}, err
	}
	row, err := s.Store.Session(ctx, session)
	if err != nil {
		return api.Waited{}, err
	}
	view := s.sessionView(ctx, row, s.workspaceName(ctx, row.WorkspaceID))
	return api.Waited{For: what.Kind, Match: found.Match, Offset: found.Offset, Session: view}, nil
}

// condition checks what a client asked for.
func (w WaitFor) condition() (c await.Condition, err error) {
	switch w.Kind {
	case "text":
		c.Match, err = await.Text(w.Value)
	case "regex":
		c.Match, err = await.Regex(w.Value)
	case "quiet":
		c.Quiet = w.Quiet
	}
	switch {
	case err != nil:
	case (w.Scrollback || w.From != nil) && c.Match == nil:
		err = errors.New("scrollback and from need text or regex")
	case w.Scrollback && w.From != nil:
		err = errors.New("give scrollback or from, not both")
	}
	if err != nil {
		return c, Refusef(api.CodeBadRequest, "wait for %s: %v", w.Kind, err)
	}
	c.Scrollback, c.From = w.Scrollback, w.From
	return c, nil
}

// String describes the condition, for errors.
func (w WaitFor) String() string {
	if w.Kind == "quiet" {
		return fmt.Sprintf("%s without output", w.Quiet)
	}
	return "its " + map[string]string{"exit": "exit", "text": "text", "regex": "text that matches"}[w.Kind]
}
