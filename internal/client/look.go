package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"middleman/internal/api"
	"middleman/workspace"
)

// DiffQuery says what to compare with, and which part of the result to return.
type DiffQuery struct {
	Against string   // "base", "merge-base", "head" or "upstream"; "" is the server's default
	Tracked bool     // leave untracked files out
	Paths   []string // only these files and directories; empty means all
	Max     int64    // bytes of a patch at most, 0 for all
}

func (q DiffQuery) path(id, format string) string {
	values := url.Values{"format": {format}, "path": q.Paths, "tracked": {strconv.FormatBool(q.Tracked)}, "max": {strconv.FormatInt(q.Max, 10)}}
	if q.Against != "" {
		values.Set("against", q.Against)
	}
	return "/workspaces/" + url.PathEscape(id) + "/diff?" + values.Encode()
}

// Diff returns the list of files that differ.
func (c *Client) Diff(ctx context.Context, id string, q DiffQuery) (workspace.Diff, error) {
	var diff workspace.Diff
	err := c.call(ctx, http.MethodGet, q.path(id, "json"), nil, &diff)
	return diff, err
}

// Patch writes patch text to out, and returns how many bytes were left out because
// of q.Max.
func (c *Client) Patch(ctx context.Context, id string, q DiffQuery, out io.Writer) (leftOut int64, err error) {
	path := q.path(id, "patch")
	resp, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(out, resp.Body); err != nil {
		return 0, fmt.Errorf("read a diff: %w", err)
	}
	text := resp.Trailer.Get("Middleman-Left-Out")
	if text == "" {
		return 0, nil // an empty answer has no trailer
	}
	return strconv.ParseInt(text, 10, 64)
}

// Commits returns all commits that the workspace has beyond against or, if
// behind, that it lacks.
func (c *Client) Commits(ctx context.Context, id, against string, behind bool) (workspace.Commits, error) {
	query := url.Values{"limit": {"500"}}
	if against != "" {
		query.Set("against", against)
	}
	if behind {
		query.Set("side", "behind")
	}
	var all workspace.Commits
	for {
		var page workspace.Commits
		if err := c.call(ctx, http.MethodGet, "/workspaces/"+url.PathEscape(id)+"/commits?"+query.Encode(), nil, &page); err != nil {
			return workspace.Commits{}, err
		}
		page.Commits = append(all.Commits, page.Commits...)
		all = page
		if page.Next == "" {
			return all, nil
		}
		query.Set("cursor", page.Next)
	}
}

// Conflicts forecasts the merges of a workspace with all others of its
// repository. It calls progress after each page but the last.
func (c *Client) Conflicts(ctx context.Context, id string, progress func(done, total int)) (api.Conflicts, error) {
	var all api.Conflicts
	for cursor := ""; ; {
		var page api.Conflicts
		if err := c.call(ctx, http.MethodGet, "/workspaces/"+url.PathEscape(id)+"/conflicts"+after(cursor), nil, &page); err != nil {
			return api.Conflicts{}, err
		}
		page.Others = append(all.Others, page.Others...)
		all = page
		if cursor = page.Next; cursor == "" {
			return all, nil
		}
		progress(len(all.Others), all.Total)
	}
}
