package client

import (
	"context"
	"net/http"
	"net/url"

	"middleman/internal/api"
)

// RequestApproval asks for the use of a tool, as the permission hook of a
// session's agent does, and blocks until that is decided. It needs a client with
// the session's token.
func (c *Client) RequestApproval(ctx context.Context, sessionID string, in api.NewApproval) (a api.Approval, err error) {
	err = c.call(ctx, http.MethodPost, "/sessions/"+url.PathEscape(sessionID)+"/approvals", in, &a)
	return a, err
}

// Approvals calls each with the approvals that wait or, with all, with every one
// that is recorded, oldest first. sessionID is "" for those of all sessions.
func (c *Client) Approvals(ctx context.Context, sessionID string, all bool, each func(api.Approval)) error {
	path := "/approvals"
	if sessionID != "" {
		path = "/sessions/" + url.PathEscape(sessionID) + "/approvals"
	}
	query := url.Values{}
	if all {
		query.Set("all", "1")
	}
	for {
		var page api.Approvals
		if err := c.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		for _, a := range page.Approvals {
			each(a)
		}
		if page.Next == "" {
			return nil
		}
		query.Set("cursor", page.Next)
	}
}

// Approval returns one approval.
func (c *Client) Approval(ctx context.Context, id string) (a api.Approval, err error) {
	err = c.call(ctx, http.MethodGet, "/approvals/"+url.PathEscape(id), nil, &a)
	return a, err
}

// AnswerApproval decides on an approval that waits.
func (c *Client) AnswerApproval(ctx context.Context, id string, in api.ApprovalAnswer) (a api.Approval, err error) {
	err = c.call(ctx, http.MethodPost, "/approvals/"+url.PathEscape(id), in, &a)
	return a, err
}
