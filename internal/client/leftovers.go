package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"middleman/internal/api"
)

// Prune finds what is left over and, unless it is a dry run, removes what may
// go. What is kept of workspaces that were deleted longer ago than snapshots
// goes too, unless that is 0.
func (c *Client) Prune(ctx context.Context, snapshots time.Duration, dryRun bool) (api.Leftovers, error) {
	query := url.Values{}
	if snapshots > 0 {
		query.Set("snapshots", snapshots.String())
	}
	if dryRun {
		query.Set("dry_run", "1")
	}
	var out api.Leftovers
	err := c.call(ctx, http.MethodPost, "/prune?"+query.Encode(), nil, &out)
	return out, err
}

// Import makes workspaces of worktrees that exist already, unless it is a dry
// run, which only says of which.
func (c *Client) Import(ctx context.Context, in api.Import, dryRun bool) (api.Imported, error) {
	path := "/import"
	if dryRun {
		path += "?dry_run=1"
	}
	var out api.Imported
	err := c.call(ctx, http.MethodPost, path, in, &out)
	return out, err
}

// Repair finds again what was moved, unless it is a dry run, which only says
// what.
func (c *Client) Repair(ctx context.Context, in api.Repair, dryRun bool) (api.Repaired, error) {
	path := "/repair"
	if dryRun {
		path += "?dry_run=1"
	}
	var out api.Repaired
	err := c.call(ctx, http.MethodPost, path, in, &out)
	return out, err
}
