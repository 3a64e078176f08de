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

// Config returns the configuration in the checkout that contains dir.
func (c *Client) Config(ctx context.Context, dir string) (api.RepoConfig, error) {
	var v api.RepoConfig
	err := c.call(ctx, http.MethodGet, "/config?directory="+url.QueryEscape(dir), nil, &v)
	return v, err
}

// TrustWorkspace trusts the configuration in a workspace's checkout. If in.Setup
// is set, it runs the setup and blocks until that has ended.
func (c *Client) TrustWorkspace(ctx context.Context, id string, in api.Approve) (api.Approved, error) {
	var v api.Approved
	err := c.call(ctx, http.MethodPost, "/workspaces/"+url.PathEscape(id)+"/trust", in, &v)
	return v, err
}

// Trust trusts the configuration in the checkout that contains in.Directory.
func (c *Client) Trust(ctx context.Context, in api.ApproveIn) (api.Approved, error) {
	var v api.Approved
	err := c.call(ctx, http.MethodPost, "/trust", in, &v)
	return v, err
}

// Trusts returns all configurations that the user trusts.
func (c *Client) Trusts(ctx context.Context) (api.Trusts, error) {
	var v api.Trusts
	err := c.call(ctx, http.MethodGet, "/trust", nil, &v)
	return v, err
}

// Distrust withdraws the trust in all configurations of the repository that
// contains dir, and returns their number. A dry run only counts them.
func (c *Client) Distrust(ctx context.Context, dir string, dryRun bool) (api.Revoked, error) {
	var v api.Revoked
	err := c.call(ctx, http.MethodDelete, withQuery("/trust", url.Values{"directory": {dir}}, dryRun), nil, &v)
	return v, err
}

// SetupLog returns the kept output of the last setup or teardown of a workspace.
func (c *Client) SetupLog(ctx context.Context, id string) (api.SetupLog, error) {
	var v api.SetupLog
	err := c.call(ctx, http.MethodGet, "/workspaces/"+url.PathEscape(id)+"/setup-log", nil, &v)
	return v, err
}
