package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"middleman/internal/api"
	"middleman/terminal"
	"middleman/terminal/await"
)

// WaitFor is the condition to wait for.
type WaitFor struct {
	Kind       string        // "exit", "text", "regex" or "quiet"
	Value      string        // the text, or the regular expression (RE2; ^ and $ match at each line)
	Scrollback bool          // look for it in the scrollback too
	From       *uint64       // look for it only in what is printed from there on; await.Now is the present head
	Quiet      time.Duration // how long there must be no output
}

// Wait blocks until a condition holds on a session, as package await has it, and
// as "middleman wait" does. After limit the error is a *Refusal with
// api.CodeTimeout. If the session ends and its last screen does not match, it is
// terminal.ErrEnded. A session that is lost counts as ended: the answer says
// which.
func (s *App) Wait(ctx context.Context, session string, what WaitFor, limit time.Duration) (api.Waited, error) {
	live, err := s.Terminal(ctx, session)
	if err != nil {
		return api.Waited{}, err
	}
	condition, err := what.condition()
	if err != nil {
		return api.Waited{}, err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found, err := await.Wait(limited, live, condition)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return api.Waited{}, Refusef(api.CodeTimeout, "waited %s for %s", limit, what)
	}
	if errors.Is(err, terminal.ErrGone) && condition.Match == nil {
		var status terminal.Status
		status, err = live.Status(ctx)
		found.Offset = status.Head
	}
	if errors.Is(err, terminal.ErrEnded) {
		return api.Waited{}, fmt.Errorf("wait for %s: %w", what, err)
	}
	if err != nil {
		return api.Waited{}, err
	}
	row, err := s.Store.Session(ctx, session)
	if err != nil {
		return api.Waited{}, err
	}
	view := s.sessionView(ctx, row, s.workspaceName(ctx, row.WorkspaceID))
	return api.Waited{For: what.Kind, Match: found.Match, Offset: found.Offset, Session: view}, nil
}

// condition checks what a client asked for.
func (w WaitFor) condition() (c await.Condition, err error) {
	switch w.Kind {
	case "text":
		c.Match, err = await.Text(w.Value)
	case "regex":
		c.Match, err = await.Regex(w.Value)
	case "quiet":
		c.Quiet = w.Quiet
	}
	switch {
	case err != nil:
	case (w.Scrollback || w.From != nil) && c.Match == nil:
		err = errors.New("scrollback and from go with text or regex")
	case w.Scrollback && w.From != nil:
		err = errors.New("scrollback and from do not go together")
	}
	if err != nil {
		return c, Refusef(api.CodeBadRequest, "wait for %s: %v", w.Kind, err)
	}
	c.Scrollback, c.From = w.Scrollback, w.From
	return c, nil
}

// String describes the condition, for errors.
func (w WaitFor) String() string {
	if w.Kind == "quiet" {
		return fmt.Sprintf("%s without output", w.Quiet)
	}
	return "its " + map[string]string{"exit": "exit", "text": "text", "regex": "text that matches"}[w.Kind]
}
