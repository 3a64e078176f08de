package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/workspace"
)

// longPoll is how long one request waits for a workspace or for workers.
const longPoll = 20 * time.Second

// progressPoll is the interval of progress reports on a creation.
const progressPoll = time.Second

// CreateWorkspace makes a workspace and, if in asks for it, its first session. It
// blocks until both are ready. Meanwhile it calls progress, unless nil, with the
// workspace about once a second. A failed creation is an error.
func (c *Client) CreateWorkspace(ctx context.Context, in api.NewWorkspace, progress func(api.Workspace)) (api.Created, error) {
	var created api.Created
	if err := c.call(ctx, http.MethodPost, "/workspaces", in, &created); err != nil {
		return api.Created{}, err
	}
	return c.follow(ctx, created, in.Session != nil, progress)
}

// AwaitWorkspace waits for the end of a creation, if one of w goes on, and
// returns like CreateWorkspace.
func (c *Client) AwaitWorkspace(ctx context.Context, w api.Workspace, progress func(api.Workspace)) (api.Created, error) {
	return c.follow(ctx, api.Created{Workspace: w}, true, progress)
}

// RenameWorkspace gives a workspace another name.
func (c *Client) RenameWorkspace(ctx context.Context, id, name string) (w api.Workspace, err error) {
	err = c.call(ctx, http.MethodPost, "/workspaces/"+url.PathEscape(id)+"/rename", api.Rename{Name: name}, &w)
	return w, err
}

// ImportSandbox imports what the sandboxed sessions of a workspace have committed. It
// blocks until that is done.
func (c *Client) ImportSandbox(ctx context.Context, id string) (out api.Brought, err error) {
	err = c.call(ctx, http.MethodPost, "/workspaces/"+url.PathEscape(id)+"/sandbox/import", struct{}{}, &out)
	return out, err
}

// MergeWorkspace merges a workspace into a branch. It blocks until that is done.
func (c *Client) MergeWorkspace(ctx context.Context, id string, in api.Merge) (out api.Merged, err error) {
	err = c.call(ctx, http.MethodPost, "/workspaces/"+url.PathEscape(id)+"/merge", in, &out)
	return out, err
}

// PushWorkspace pushes a workspace's branch to a remote. It blocks until that is done.
func (c *Client) PushWorkspace(ctx context.Context, id string, in api.Push) (out api.Pushed, err error) {
	err = c.call(ctx, http.MethodPost, "/workspaces/"+url.PathEscape(id)+"/push", in, &out)
	return out, err
}

// RenameSession gives a session another name.
func (c *Client) RenameSession(ctx context.Context, id, name string) (s api.Session, err error) {
	err = c.call(ctx, http.MethodPost, "/sessions/"+url.PathEscape(id)+"/rename", api.Rename{Name: name}, &s)
	return s, err
}

// RetryWorkspace tries a failed creation again, and blocks and returns like
// CreateWorkspace.
func (c *Client) RetryWorkspace(ctx context.Context, id string, in api.Retry, progress func(api.Workspace)) (api.Created, error) {
	var created api.Created
	if err := c.call(ctx, http.MethodPost, "/workspaces/"+url.PathEscape(id)+"/retry", in, &created); err != nil {
		return api.Created{}, err
	}
	return c.follow(ctx, created, true, progress)
}

// follow waits for a creation to end.
func (c *Client) follow(ctx context.Context, created api.Created, session bool, progress func(api.Workspace)) (api.Created, error) {
	id := created.Workspace.ID
	for created.Workspace.State == workspace.StateCreating {
		if progress != nil {
			progress(created.Workspace)
		}
		wait := longPoll
		if progress != nil {
			wait = progressPoll
		}
		path := "/workspaces/" + url.PathEscape(id) + "?wait=" + wait.String()
		var next api.Workspace
		if err := c.call(ctx, http.MethodGet, path, nil, &next); err != nil {
			return api.Created{}, fmt.Errorf("wait for workspace %s, which is being made: %w: look with `middleman ls --all` before you ask for it again",
				created.Workspace.Name, err)
		}
		created.Workspace = next
	}
	if w := created.Workspace; w.State != workspace.StateReady {
		name := Target(c.runtime, w.Name)
		return created, fmt.Errorf("make workspace %s: %s; `middleman retry %[1]s` tries again, `middleman rm %[1]s` removes what there is", name, w.Error)
	}
	if session && created.Session == nil && len(created.Workspace.Sessions) > 0 {
		created.Session = &created.Workspace.Sessions[0]
	}
	return created, nil
}

// Workspaces returns all workspaces.
func (c *Client) Workspaces(ctx context.Context) ([]api.Workspace, error) {
	return c.workspaces(ctx, url.Values{})
}

// WorkspacesStatus returns all workspaces with their cached statuses. If fresh,
// the server refreshes each status first.
func (c *Client) WorkspacesStatus(ctx context.Context, fresh bool) ([]api.Workspace, error) {
	return c.workspaces(ctx, url.Values{"status": {"1"}, "fresh": {strconv.FormatBool(fresh)}})
}

// WorkspaceStatus returns one workspace with a fresh status.
func (c *Client) WorkspaceStatus(ctx context.Context, id string) (api.Workspace, error) {
	var w api.Workspace
	err := c.call(ctx, http.MethodGet, "/workspaces/"+url.PathEscape(id)+"?status=1&fresh=1", nil, &w)
	return w, err
}

// DeletedWorkspaces returns the deleted workspaces that can be restored, or of
// whose sessions transcripts are kept, in the order of their deletion.
func (c *Client) DeletedWorkspaces(ctx context.Context) ([]api.Workspace, error) {
	return c.workspaces(ctx, url.Values{"deleted": {"1"}})
}

func (c *Client) workspaces(ctx context.Context, query url.Values) ([]api.Workspace, error) {
	var all []api.Workspace
	for {
		var page api.Workspaces
		if err := c.call(ctx, http.MethodGet, "/workspaces?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Workspaces...)
		if page.Next == "" {
			return all, nil
		}
		query.Set("cursor", page.Next)
	}
}

// Workspace returns one workspace.
func (c *Client) Workspace(ctx context.Context, id string) (api.Workspace, error) {
	var w api.Workspace
	err := c.call(ctx, http.MethodGet, "/workspaces/"+url.PathEscape(id), nil, &w)
	return w, err
}

// Sessions returns all sessions, running and ended.
func (c *Client) Sessions(ctx context.Context) ([]api.Session, error) {
	return c.sessions(ctx, "/sessions", url.Values{})
}

// Transcripts returns the sessions of deleted workspaces whose transcripts are
// kept.
func (c *Client) Transcripts(ctx context.Context) ([]api.Session, error) {
	return c.sessions(ctx, "/transcripts", url.Values{})
}

// RecordedSessions returns what is recorded of all sessions. The server asks no
// session for its state.
func (c *Client) RecordedSessions(ctx context.Context) ([]api.Session, error) {
	return c.sessions(ctx, "/sessions", url.Values{"recorded": {"1"}})
}

// RecordedSessionsOf is RecordedSessions of one workspace, by its id or its whole
// name.
func (c *Client) RecordedSessionsOf(ctx context.Context, workspace string) ([]api.Session, error) {
	return c.sessions(ctx, "/workspaces/"+url.PathEscape(workspace)+"/sessions", url.Values{"recorded": {"1"}})
}

func (c *Client) sessions(ctx context.Context, path string, query url.Values) ([]api.Session, error) {
	var all []api.Session
	for {
		var page api.Sessions
		if err := c.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Sessions...)
		if page.Next == "" {
			return all, nil
		}
		query.Set("cursor", page.Next)
	}
}

func after(cursor string) string {
	if cursor == "" {
		return ""
	}
	return "?cursor=" + url.QueryEscape(cursor)
}

// StartSession starts one more session in a workspace.
func (c *Client) StartSession(ctx context.Context, workspaceID string, in api.NewSession) (api.Session, error) {
	var s api.Session
	err := c.call(ctx, http.MethodPost, "/workspaces/"+url.PathEscape(workspaceID)+"/sessions", in, &s)
	return s, err
}

// ResumeSession takes up the conversation of an ended session again, in a new
// session of its workspace. in names no command, profile or prompt.
func (c *Client) ResumeSession(ctx context.Context, id string, in api.NewSession) (api.Session, error) {
	var s api.Session
	err := c.call(ctx, http.MethodPost, "/sessions/"+url.PathEscape(id)+"/resume", in, &s)
	return s, err
}

// Prompt sends a text to a session's program and submits it.
func (c *Client) Prompt(ctx context.Context, id string, in api.Prompt) (out api.Prompted, err error) {
	err = c.call(ctx, http.MethodPost, "/sessions/"+url.PathEscape(id)+"/prompt", in, &out)
	return out, err
}

// Consent says what a deletion may destroy. Each field stands for itself.
type Consent struct {
	DiscardWork  bool // delete work that is nowhere else
	StopSessions bool // stop running sessions
	SkipTeardown bool // do not run the repository's teardown
	Workers      bool // first delete the workspaces of its workers
	// ForgetTranscripts: do not keep the transcripts of its sessions.
	ForgetTranscripts bool
}

// DeleteWorkspace deletes a workspace. If the server refuses, the error is an
// *api.Problem that lists what would be lost. A dry run only tells what a
// deletion would do.
func (c *Client) DeleteWorkspace(ctx context.Context, id string, consent Consent, dryRun bool) (api.Deleted, error) {
	query := url.Values{}
	for name, on := range map[string]bool{
		"discard_work":       consent.DiscardWork,
		"stop_sessions":      consent.StopSessions,
		"skip_teardown":      consent.SkipTeardown,
		"workers":            consent.Workers,
		"forget_transcripts": consent.ForgetTranscripts,
		"dry_run":            dryRun,
	} {
		if on {
			query.Set(name, strconv.Itoa(1))
		}
	}
	path := "/workspaces/" + url.PathEscape(id)
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var deleted api.Deleted
	err := c.call(ctx, http.MethodDelete, path, nil, &deleted)
	return deleted, err
}

// RestoreWorkspace brings a deleted workspace back.
func (c *Client) RestoreWorkspace(ctx context.Context, id string) (api.Restored, error) {
	var restored api.Restored
	err := c.call(ctx, http.MethodPost, "/workspaces/"+url.PathEscape(id)+"/restore", nil, &restored)
	return restored, err
}

// Backends returns the server's backends.
func (c *Client) Backends(ctx context.Context) ([]api.Backend, error) {
	var all api.Backends
	err := c.call(ctx, http.MethodGet, "/backends", nil, &all)
	return all.Backends, err
}

// LoginLink returns a link that logs one browser in, once.
func (c *Client) LoginLink(ctx context.Context, in api.NewLoginLink) (api.LoginLink, error) {
	var link api.LoginLink
	err := c.call(ctx, http.MethodPost, "/login-links", in, &link)
	return link, err
}

// Logins returns the browsers that are logged in.
func (c *Client) Logins(ctx context.Context) ([]api.Login, error) {
	var all api.Logins
	err := c.call(ctx, http.MethodGet, "/logins", nil, &all)
	return all.Logins, err
}

// RevokeLogin logs one browser out. The tokens that it made end, unless keepTokens is
// set.
func (c *Client) RevokeLogin(ctx context.Context, id string, keepTokens bool) error {
	segment, err := segment("login", id)
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodDelete, "/logins/"+segment+keeping(keepTokens), nil, nil)
}

// RevokeLogins logs all browsers out. The tokens that they made end, unless keepTokens
// is set.
func (c *Client) RevokeLogins(ctx context.Context, keepTokens bool) error {
	return c.call(ctx, http.MethodDelete, "/logins"+keeping(keepTokens), nil, nil)
}

// keeping returns the query with which tokens outlive their login.
func keeping(tokens bool) string {
	if tokens {
		return "?keep_tokens=true"
	}
	return ""
}

// AgentStatus returns what a session's program does now.
func (c *Client) AgentStatus(ctx context.Context, sessionID string) (agent.Report, error) {
	var report agent.Report
	err := c.call(ctx, http.MethodGet, "/sessions/"+url.PathEscape(sessionID)+"/status", nil, &report)
	return report, err
}

// Report tells what the hook of a session's program says. It needs a client with
// the session's token.
func (c *Client) Report(ctx context.Context, sessionID string, h agent.Hook) error {
	return c.call(ctx, http.MethodPost, "/sessions/"+url.PathEscape(sessionID)+"/report", h, nil)
}

// Spawn starts a worker of a session.
func (c *Client) Spawn(ctx context.Context, sessionID string, in api.NewWorker) (api.Spawned, error) {
	var spawned api.Spawned
	err := c.call(ctx, http.MethodPost, "/sessions/"+url.PathEscape(sessionID)+"/workers", in, &spawned)
	return spawned, err
}

// Workers returns all workers, running and ended.
func (c *Client) Workers(ctx context.Context) ([]api.Worker, error) {
	var all api.Workers
	err := c.call(ctx, http.MethodGet, "/workers", nil, &all)
	return all.Workers, err
}

// WaitWorkers blocks until all workers of a session have ended, and returns them.
func (c *Client) WaitWorkers(ctx context.Context, sessionID string) ([]api.Worker, error) {
	path := "/sessions/" + url.PathEscape(sessionID) + "/workers?wait=" + longPoll.String()
	for {
		var all api.Workers
		if err := c.call(ctx, http.MethodGet, path, nil, &all); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all.Workers, func(w api.Worker) bool { return w.EndedAt == nil }) {
			return all.Workers, nil
		}
	}
}

// Runtimes returns the remote runtimes, by name, with what is known of them.
func (c *Client) Runtimes(ctx context.Context) ([]api.Runtime, error) {
	var all api.Runtimes
	err := c.call(ctx, http.MethodGet, "/runtimes", nil, &all)
	return all.Runtimes, err
}

// Overview returns what the remote runtimes have, by name.
func (c *Client) Overview(ctx context.Context) ([]api.RuntimeList, error) {
	var all api.Overview
	err := c.call(ctx, http.MethodGet, "/overview", nil, &all)
	return all.Runtimes, err
}

// AddRuntime adds a remote runtime, and returns it after one call on it.
func (c *Client) AddRuntime(ctx context.Context, in api.NewRuntime) (r api.Runtime, err error) {
	err = c.call(ctx, http.MethodPost, "/runtimes", in, &r)
	return r, err
}

// CheckRuntime asks a remote runtime whether it can be used.
func (c *Client) CheckRuntime(ctx context.Context, name string) (r api.Runtime, err error) {
	err = c.call(ctx, http.MethodPost, "/runtimes/"+url.PathEscape(name)+"/check", nil, &r)
	return r, err
}

// RemoveRuntime forgets a remote runtime.
func (c *Client) RemoveRuntime(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/runtimes/"+url.PathEscape(name), nil, nil)
}
