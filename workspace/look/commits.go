package look

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

const (
	defaultCommits = 50
	maxCommits     = 500
)

// CommitsRequest says which commits to list.
type CommitsRequest struct {
	Against Against // AgainstBase or AgainstUpstream; "" is the base, or the upstream if w has no base
	Behind  bool    // list instead the commits that HEAD lacks
	Cursor  string  // Commits.Next of the previous page
	Limit   int     // 0 means 50; at most 500
}

// Commits is a page of the commits that one side has and the other lacks,
// newest first. All pages of a list compare the same two commits.
type Commits struct {
	Against Against  `json:"against"`
	Of      string   `json:"of" doc:"What HEAD was compared with"`
	Head    string   `json:"head"`
	Commit  string   `json:"commit" doc:"The commit of that"`
	Ahead   int      `json:"ahead"`
	Behind  int      `json:"behind"`
	Side    string   `json:"side" enum:"ahead,behind" doc:"Which of them are listed"`
	Commits []Commit `json:"commits"`
	Next    string   `json:"next,omitempty" doc:"Cursor of the next page"`
}

// Commit is one commit. A subject or name that a terminal does not show as it
// is is quoted. A very long one is cut.
type Commit struct {
	Hash    string    `json:"hash"`
	Subject string    `json:"subject"`
	Author  string    `json:"author"`
	Email   string    `json:"email"`
	Time    time.Time `json:"time" doc:"When it was committed"`
}

// Commits lists the commits that HEAD has and the current base lacks, or with
// Behind the reverse.
func (i *Inspector) Commits(ctx context.Context, w model.Workspace, r CommitsRequest) (_ Commits, err error) {
	defer model.Containing(w.Name, &err)
	g, err := i.boxedView(ctx, w)
	if err != nil {
		return Commits{}, err
	}
	defer g.Close()
	out, skip, err := ends(ctx, g, w, r)
	if err == nil {
		err = out.fill(ctx, g, skip, r.Limit)
	}
	if err != nil {
		return Commits{}, fmt.Errorf("list commits of workspace %s: %w", w.Name, err)
	}
	return out, nil
}

// ends finds the two commits to compare: the current ones, or the cursor's.
func ends(ctx context.Context, g *git.View, w model.Workspace, r CommitsRequest) (out Commits, skip int, err error) {
	out = Commits{Against: r.Against, Side: "ahead", Commits: []Commit{}}
	if r.Behind {
		out.Side = "behind"
	}
	if out.Against == "" {
		if out.Against = AgainstBase; w.Base == "" {
			out.Against = AgainstUpstream
		}
	}
	if out.Against != AgainstBase && out.Against != AgainstUpstream {
		return out, 0, fmt.Errorf("against %q: it must be base or upstream: %w", out.Against, model.ErrBadRequest)
	}
	if _, out.Of, out.Commit, err = against(ctx, g, w, out.Against); err != nil {
		return out, 0, err
	}
	if out.Head, err = g.Commit(ctx, "HEAD"); err == nil && out.Head == "" {
		err = fmt.Errorf("HEAD: %w", model.ErrNoCommits)
	}
	if err == nil && r.Cursor != "" {
		skip, err = out.resume(r.Cursor)
	}
	if err != nil {
		return out, 0, err
	}
	counts, err := countBetween(ctx, g, out.Head, out.Commit)
	out.Ahead, out.Behind = counts[0], counts[1]
	return out, skip, err
}

// resume reads from a cursor the two commits, and how many commits to skip.
func (c *Commits) resume(cursor string) (skip int, err error) {
	parts := strings.Split(cursor, ".")
	if len(parts) == 3 && git.IsObjectID(parts[0]) && git.IsObjectID(parts[1]) {
		if skip, err = strconv.Atoi(parts[2]); err == nil && skip >= 0 {
			c.Head, c.Commit = parts[0], parts[1]
			return skip, nil
		}
	}
	return 0, fmt.Errorf("cursor %s: not one of ours: %w", plaintext.Quoted(cursor), model.ErrBadRequest)
}

// fill lists one page. git cuts the fields, so that no record is too long.
func (c *Commits) fill(ctx context.Context, g *git.View, skip, limit int) error {
	if limit <= 0 {
		limit = defaultCommits
	}
	limit = min(limit, maxCommits)
	from, not := c.Head, c.Commit
	total := c.Ahead
	if c.Side == "behind" {
		from, not, total = not, from, c.Behind
	}
	var bad error
	list := g.Look("log", "-z", "--no-show-signature", "--no-color", "--no-decorate", "--no-notes", "--encoding=UTF-8", "--no-patch",
		"--format=%H%n%ct%n%<(200,trunc)%an%n%<(200,trunc)%ae%n%<(1000,trunc)%s",
		fmt.Sprintf("--skip=%d", skip), fmt.Sprintf("--max-count=%d", limit), from, "^"+not, "--")
	list.Each = func(record string) {
		commit, err := parseCommit(record)
		if err != nil {
			bad = err
			return
		}
		c.Commits = append(c.Commits, commit)
	}
	if _, err := list.Run(ctx); err != nil {
		return err
	}
	if shown := skip + len(c.Commits); shown < total && len(c.Commits) > 0 {
		c.Next = fmt.Sprintf("%s.%s.%d", c.Head, c.Commit, shown)
	}
	return bad
}

func parseCommit(record string) (Commit, error) {
	fields := strings.SplitN(record, "\n", 5)
	if len(fields) != 5 {
		return Commit{}, fmt.Errorf("git log printed %s, which middleman does not understand", plaintext.Quoted(record))
	}
	seconds, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return Commit{}, fmt.Errorf("git log printed %s, which middleman does not understand", plaintext.Quoted(fields[1]))
	}
	text := func(i int) string { return plaintext.Quoted(strings.TrimRight(fields[i], " ")) }
	return Commit{Hash: fields[0], Time: time.Unix(seconds, 0).UTC(), Author: text(2), Email: text(3), Subject: text(4)}, nil
}
