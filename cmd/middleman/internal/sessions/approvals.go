package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
	"middleman/internal/approve"
	"middleman/internal/client"
	"middleman/internal/plaintext"
)

func (c commands) approvalsCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "approvals [TARGET | RUNTIME:] [--all]",
		Short: "List the requests of coding agents that wait for your approval",
		Long: `List the requests of coding agents that wait for your approval, oldest first. ` + "`middleman approve ID`" + `
allows one, ` + "`middleman deny ID`" + ` denies it; the first answer counts. Those on other machines
(middleman runtime) are RUNTIME:ID. With --all the decisions that are recorded are listed
too, with the rule or the person that decided.`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error { return c.approvals(cmd.Context(), given, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "include decided requests")
	return cmd
}

func (c commands) denyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "deny ID [REASON...]",
		Short: "Deny a request of a coding agent, and say why",
		Long: `Deny a request of a coding agent. The agent gets the REASON. The same request is
denied to the same session from then on, without another question.`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			in := api.ApprovalAnswer{Decision: string(approve.Deny), Reason: strings.Join(given[1:], " ")}
			return c.answer(cmd.Context(), given[:1], in, true)
		},
	}
}

func (c commands) approvals(ctx context.Context, given []string, all bool) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	session := ""
	if len(given) > 0 && (c.Runtime == "" || given[0] != "") {
		t, err := catalog.Find(ctx, c.CLI, given[0])
		if err != nil {
			return err
		}
		session = t.Shown.ID
	}
	list, err := approvalsOn(ctx, server, session, all)
	if err != nil {
		return err
	}
	if len(given) == 0 {
		list = append(list, c.approvalsElsewhere(ctx, server, all)...)
	}
	return c.Print(api.Approvals{Approvals: list}, func() error {
		if len(list) == 0 {
			fmt.Fprintln(c.Errs, "No request waits for approval.")
			return nil
		}
		head := []string{"ID", "AGE", "SESSION", "WHY", "REQUEST"}
		if all {
			head = []string{"ID", "AGE", "SESSION", "STATE", "BY", "RULE", "REQUEST"}
		}
		table := c.FitTable(20, head...)
		for _, a := range list {
			row := []string{a.ID, cli.Age(a.CreatedAt), a.Session, a.Rule, a.Summary}
			if all {
				row = []string{a.ID, cli.Age(a.CreatedAt), a.Session, a.State, cli.Dash(a.DecidedBy), a.Rule, a.Summary}
			}
			table.Row(row...)
		}
		return table.Flush()
	})
}

// approvalsOn lists the approvals of a server or a runtime, with the ids and labels
// that one types here.
func approvalsOn(ctx context.Context, server *client.Client, session string, all bool) ([]api.Approval, error) {
	list := []api.Approval{}
	err := server.Approvals(ctx, session, all, func(a api.Approval) {
		if server.Runtime() != "" {
			a.ID, a.Session = server.Runtime()+":"+a.ID, server.Runtime()+":"+a.Session
		}
		list = append(list, a)
	})
	return list, err
}

// approvalsElsewhere lists the approvals of the runtimes, and says which have not
// answered.
func (c commands) approvalsElsewhere(ctx context.Context, server *client.Client, all bool) (list []api.Approval) {
	known, err := catalog.OfRuntimes(ctx, server)
	if err != nil {
		fmt.Fprintf(c.Errs, "middleman: what is on other machines: %v\n", err)
	}
	for _, r := range known.Runtimes {
		if !r.Current {
			fmt.Fprintln(c.Errs, "middleman:", catalog.Absent(r))
			continue
		}
		of, err := approvalsOn(ctx, server.On(r.Runtime.Name), "", all)
		if err != nil {
			fmt.Fprintf(c.Errs, "middleman: %v\n", err)
		}
		list = append(list, of...)
	}
	return list
}

// answer shows a request that waits, and answers it. Unless sure, it asks first.
func (c commands) answer(ctx context.Context, given []string, in api.ApprovalAnswer, sure bool) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	a, err := c.chosen(ctx, server, given)
	if err != nil {
		return err
	}
	if !c.JSON {
		c.showApproval(a)
	}
	if a.State == api.ApprovalWaiting && !sure {
		if !viewer.IsTerminal(c.In) {
			return fmt.Errorf("there is no terminal to ask at: `middleman approve %s --yes` allows it", c.Target(a.ID))
		}
		if !c.Confirm("Allow this, once? [y/N] ") {
			return errors.New("not allowed: the agent waits on")
		}
	}
	answered, err := server.AnswerApproval(ctx, a.ID, in)
	if err != nil {
		return err
	}
	return c.Print(answered, func() error {
		fmt.Fprintln(c.Errs, answered.State)
		return nil
	})
}

// chosen returns the request with the given id or, without one, the only one that
// waits.
func (c commands) chosen(ctx context.Context, server *client.Client, given []string) (a api.Approval, err error) {
	if len(given) > 0 && (c.Runtime == "" || given[0] != "") {
		a, err := server.Approval(ctx, given[0])
		if p, ok := errors.AsType[*api.Problem](err); ok && p.Code == api.CodeNotFound {
			p.Detail = "there is no request " + given[0] + "; `middleman approvals` lists those that wait"
		}
		return a, err
	}
	var ids []string
	if err := server.Approvals(ctx, "", false, func(x api.Approval) { a, ids = x, append(ids, c.Target(x.ID)) }); err != nil {
		return a, err
	}
	switch len(ids) {
	case 0:
		return a, errors.New("no request waits for approval")
	case 1:
		return a, nil
	}
	return a, cli.Usagef("%d requests wait: name one of %s", len(ids), strings.Join(ids, ", "))
}

// showApproval prints all of a request.
func (c commands) showApproval(a api.Approval) {
	fmt.Fprintf(c.Errs, "%s in %s wants %s\n%s: %s\n", plaintext.Line(a.Agent), plaintext.Line(a.Session), plaintext.Line(a.Summary),
		a.Rule, plaintext.Line(a.Reason))
	for line := range strings.Lines(approve.Text(a.Diff, a.Arguments)) {
		fmt.Fprintln(c.Out, strings.TrimRight(line, "\r\n"))
	}
}
