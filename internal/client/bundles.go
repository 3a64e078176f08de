package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"middleman/internal/api"
)

// bundlePath returns the path of what is below a bundle. Of some ids there can be
// none: see segment.
func bundlePath(id, below, digest string) (string, error) {
	part, err := segment("bundle", id)
	if err != nil {
		return "", err
	}
	query := url.Values{}
	if digest != "" {
		query.Set("digest", digest)
	}
	return withQuery("/bundles/"+part+below, query, false), nil
}

// PushBundle stores a bundle.
func (c *Client) PushBundle(ctx context.Context, content []byte) (api.PushedBundle, error) {
	var v api.PushedBundle
	err := c.call(ctx, http.MethodPost, "/bundles", json.RawMessage(content), &v)
	return v, err
}

// Bundles returns all bundles, in the order in which they were stored.
func (c *Client) Bundles(ctx context.Context) ([]api.Bundle, error) {
	var all []api.Bundle
	for next := ""; ; {
		var page api.Bundles
		if err := c.call(ctx, http.MethodGet, "/bundles"+after(next), nil, &page); err != nil {
			return nil, err
		}
		if all, next = append(all, page.Bundles...), page.Next; next == "" {
			return all, nil
		}
	}
}

// Bundle returns the bundle with that id and digest, of the newest revision if digest
// is "".
func (c *Client) Bundle(ctx context.Context, id, digest string) (api.Bundle, error) {
	var v api.Bundle
	path, err := bundlePath(id, "", digest)
	if err == nil {
		err = c.call(ctx, http.MethodGet, path, nil, &v)
	}
	return v, err
}

// CheckBundle says whether a launch with that id and digest would find its bundle.
func (c *Client) CheckBundle(ctx context.Context, id, digest string) (api.Availability, error) {
	var v api.Availability
	path, err := bundlePath(id, "/availability", digest)
	if err == nil {
		err = c.call(ctx, http.MethodGet, path, nil, &v)
	}
	return v, err
}

// RemoveBundle removes the bundle with that id and digest, or all revisions if digest
// is "". A dry run removes nothing.
func (c *Client) RemoveBundle(ctx context.Context, id, digest string, dryRun bool) (api.RemovedBundles, error) {
	part, err := segment("bundle", id)
	if err != nil {
		return api.RemovedBundles{}, err
	}
	query := url.Values{}
	if digest != "" {
		query.Set("digest", digest)
	}
	var v api.RemovedBundles
	err = c.call(ctx, http.MethodDelete, withQuery("/bundles/"+part, query, dryRun), nil, &v)
	return v, err
}
