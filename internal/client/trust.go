package client

import (
	"context"
	"net/http"
	"net/url"

	"middleman/internal/api"
)

// WorkspaceConfig returns the configuration in a workspace's checkout.
func (c *Client) WorkspaceConfig(ctx context.Context, id string) (api.RepoConfig, error) {
	var v api.RepoConfig
	err := c.call(ctx, http.MethodGet, "/workspaces/"+url.PathEscape(id)+"/trust", nil, &v)
	return v, err
}

// Config returns the configuration in the checkout that a directory is in.
func (c *Client) Config(ctx context.Context, dir string) (api.RepoConfig, error) {
	var v api.RepoConfig
	err := c.call(ctx, http.MethodGet, "/config?directory="+url.QueryEscape(dir), nil, &v)
	return v, err
}

// TrustWorkspace agrees to the configuration in a workspace's checkout, and
// where asked for runs its setup.
func (c *Client) TrustWorkspace(ctx context.Context, id string, in api.Approve) (api.Approved, error) {
	var v api.Approved
	err := c.call(ctx, http.MethodPost, "/workspaces/"+url.PathEscape(id)+"/trust", in, &v)
	return v, err
}

// Trust agrees to the configuration in the checkout that a directory is in.
func (c *Client) Trust(ctx context.Context, in api.ApproveIn) (api.Approved, error) {
	var v api.Approved
	err := c.call(ctx, http.MethodPost, "/trust", in, &v)
	return v, err
}

// Trusts returns all that the user agreed to.
func (c *Client) Trusts(ctx context.Context) (api.Trusts, error) {
	var v api.Trusts
	err := c.call(ctx, http.MethodGet, "/trust", nil, &v)
	return v, err
}

// Distrust takes back all that the user agreed to in the repository of a
// directory, or with a dry run counts it.
func (c *Client) Distrust(ctx context.Context, dir string, dryRun bool) (api.Revoked, error) {
	query := url.Values{"directory": {dir}}
	if dryRun {
		query.Set("dry_run", "1")
	}
	var v api.Revoked
	err := c.call(ctx, http.MethodDelete, "/trust?"+query.Encode(), nil, &v)
	return v, err
}

// SetupLog returns what setup or teardown of a workspace printed last.
func (c *Client) SetupLog(ctx context.Context, id string) (api.SetupLog, error) {
	var v api.SetupLog
	err := c.call(ctx, http.MethodGet, "/workspaces/"+url.PathEscape(id)+"/setup-log", nil, &v)
	return v, err
}
