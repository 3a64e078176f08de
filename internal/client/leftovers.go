package client

import (
	"context"
	"net/http"
	"net/url"

	"middleman/internal/api"
)

// withQuery returns a route's path with its query, and with dry_run for a dry run.
func withQuery(path string, query url.Values, dryRun bool) string {
	if dryRun {
		query.Set("dry_run", "1")
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// Prune finds leftovers and, unless it is a dry run, removes those that may be
// removed.
func (c *Client) Prune(ctx context.Context, q api.PruneQuery) (api.Leftovers, error) {
	query := url.Values{}
	if q.Snapshots > 0 {
		query.Set("snapshots", q.Snapshots.String())
	}
	if q.Workers {
		query.Set("workers", "1")
	}
	var out api.Leftovers
	err := c.call(ctx, http.MethodPost, withQuery("/prune", query, q.DryRun), nil, &out)
	return out, err
}

// ForgetTranscripts removes the transcripts of the deleted workspaces with these
// ids, or of all deleted workspaces if there are none. A dry run only tells what it
// would remove.
func (c *Client) ForgetTranscripts(ctx context.Context, workspaces []string, dryRun bool) (api.ForgottenTranscripts, error) {
	var out api.ForgottenTranscripts
	err := c.call(ctx, http.MethodDelete, withQuery("/transcripts", url.Values{"workspace": workspaces}, dryRun), nil, &out)
	return out, err
}

// Import makes workspaces of worktrees that exist already. A dry run only tells
// of which.
func (c *Client) Import(ctx context.Context, in api.Import, dryRun bool) (api.Imported, error) {
	var out api.Imported
	err := c.call(ctx, http.MethodPost, withQuery("/import", url.Values{}, dryRun), in, &out)
	return out, err
}

// Repair finds moved workspaces and repositories, and records where they are. A
// dry run records nothing.
func (c *Client) Repair(ctx context.Context, in api.Repair, dryRun bool) (api.Repaired, error) {
	var out api.Repaired
	err := c.call(ctx, http.MethodPost, withQuery("/repair", url.Values{}, dryRun), in, &out)
	return out, err
}

// Server describes the running server.
func (c *Client) Server(ctx context.Context) (v api.Server, err error) {
	err = c.call(ctx, http.MethodGet, "/server", nil, &v)
	return v, err
}

// Version tells the server's build, its API and its features.
func (c *Client) Version(ctx context.Context) (v api.Version, err error) {
	err = c.call(ctx, http.MethodGet, "/version", nil, &v)
	return v, err
}

// StopServer ends the server. It returns when the server has agreed, and describes
// the one that ends.
func (c *Client) StopServer(ctx context.Context) (v api.Server, err error) {
	err = c.call(ctx, http.MethodPost, "/server/stop", nil, &v)
	return v, err
}

// RestartServer is StopServer for a server that starts again: as the program with that
// absolute path, or as its own if program is empty.
func (c *Client) RestartServer(ctx context.Context, program string) (v api.Server, err error) {
	path := "/server/restart"
	if program != "" {
		path += "?" + url.Values{"program": {program}}.Encode()
	}
	err = c.call(ctx, http.MethodPost, path, nil, &v)
	return v, err
}
