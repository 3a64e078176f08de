package client

import (
	"context"
	"net/http"
	"net/url"

	"middleman/internal/api"
)

// CreateToken makes a token. Only this answer has its secret.
func (c *Client) CreateToken(ctx context.Context, in api.NewToken) (api.CreatedToken, error) {
	var v api.CreatedToken
	err := c.call(ctx, http.MethodPost, "/tokens", in, &v)
	return v, err
}

// Tokens returns all tokens, oldest first.
func (c *Client) Tokens(ctx context.Context) (api.Tokens, error) {
	var v api.Tokens
	err := c.call(ctx, http.MethodGet, "/tokens", nil, &v)
	return v, err
}

// RevokeToken revokes the token with that id or name, and ends its open requests.
func (c *Client) RevokeToken(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/tokens/"+url.PathEscape(name), nil, nil)
}

// RotateToken gives the token with that id or name a new secret. Only this answer
// has the secret.
func (c *Client) RotateToken(ctx context.Context, name string) (api.CreatedToken, error) {
	var v api.CreatedToken
	err := c.call(ctx, http.MethodPost, "/tokens/"+url.PathEscape(name)+"/rotate", nil, &v)
	return v, err
}
