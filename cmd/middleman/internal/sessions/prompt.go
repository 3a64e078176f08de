package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/agent"
	"middleman/internal/api"
)

// prompt sends the text of the arguments, or standard input, to the program of
// the session that target means. The server does it, which knows most of what
// the program does.
func (c commands) prompt(ctx context.Context, target string, args []string, f *sendFlags) error {
	if _, err := f.expected(); err != nil {
		return err
	}
	in := api.Prompt{Text: strings.Join(args, " "), Expect: f.expect, ExpectRows: f.rows, Answer: f.answer}
	if in.Text == "-" {
		raw, err := io.ReadAll(io.LimitReader(c.In, agent.MaxPrompt+1))
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		in.Text = string(raw)
	}
	if err := agent.CheckPrompt(in.Text); err != nil {
		return cli.Usagef("%w", err)
	}
	ctx, cancel := withTimeout(ctx, f.timeout)
	defer cancel()
	t, err := catalog.Find(ctx, c.CLI, target)
	if err != nil {
		return timedOut(ctx, f.timeout, target, err)
	}
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	if f.when != "" {
		in.When, in.Timeout = f.when, promptWait.String()
		if now := t.Shown.Agent; now != nil && now.State == agent.Working {
			fmt.Fprintf(c.Errs, "middleman: waiting until %s is idle: it is %s\n", t.Label(), now.Text())
		}
	}
	answer, err := server.Prompt(ctx, t.Shown.ID, in)
	for p, _ := errors.AsType[*api.Problem](err); p != nil && p.Code == api.CodeTimeout && ctx.Err() == nil; p, _ = errors.AsType[*api.Problem](err) {
		answer, err = server.Prompt(ctx, t.Shown.ID, in)
	}
	if err != nil {
		return timedOut(ctx, f.timeout, t.Label(), fmt.Errorf("send to %s: %w", t.Label(), err))
	}
	return c.sent(ctx, t, f, sent{Offset: answer.Offset})
}

// promptWait is for how long one request waits for an agent to be idle.
const promptWait = 10 * time.Minute
