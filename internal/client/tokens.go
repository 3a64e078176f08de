package client

import (
	"context"
	"fmt"
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
	segment, err := segment("token", name)
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodDelete, "/tokens/"+segment, nil, nil)
}

// RotateToken gives the token with that id or name a new secret. Only this answer
// has the secret.
func (c *Client) RotateToken(ctx context.Context, name string) (api.CreatedToken, error) {
	var v api.CreatedToken
	segment, err := segment("token", name)
	if err == nil {
		err = c.call(ctx, http.MethodPost, "/tokens/"+segment+"/rotate", nil, &v)
	}
	return v, err
}

// segment returns what the user named as one segment of a path. Of "", "." and
// ".." there can be none, and the path would lead elsewhere: these are not found.
func segment(kind, name string) (string, error) {
	if name == "" || name == "." || name == ".." {
		return "", &api.Problem{Status: http.StatusNotFound, Code: api.CodeNotFound, Detail: fmt.Sprintf("there is no %s %q", kind, name)}
	}
	return url.PathEscape(name), nil
}
