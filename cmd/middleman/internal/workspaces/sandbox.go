package workspaces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/egress"
	"middleman/internal/plaintext"
	"middleman/internal/sandbox"
)

const sandboxHelp = `--sandbox LEVEL of ` + "`new`, `run`, `spawn`, `resume` and `retry`" + ` says what the program of a
session may touch, and all that it starts:

    none         whatever you may
    workspace    its workspace and private directories; no credentials are readable
    strict       the same, without network

Without the flag the profile says it (sandbox), else the setting sandbox.level: then
coding agents get workspace, shells and commands none. ` + "`resume`" + ` keeps the level of the
session, and a worker's is never weaker than that of the session that starts it. A level
that this machine cannot enforce is refused. It needs bubblewrap; level workspace can do
with Landlock (Linux 6.2), which covers less. ` + "`middleman show`" + ` says what was applied.

The program can write, at both levels:

    the workspace            all of it but .git, which leads to a private git directory
    temporary files          with bubblewrap /tmp, /var/tmp and $TMPDIR are an empty
                             directory of the session's own, also for a program that has
                             /tmp written in it; it is removed when the session ends.
                             With Landlock it is $TMPDIR where that is set, and then /tmp
                             cannot be written; else /tmp itself, shared with the host
    caches                   XDG_CACHE_HOME and the usual variables lead to directories
                             that the workspace keeps (GOCACHE, npm_config_cache, ...)
    copies                   of the directories that the profile names (directories): the
                             program has its login and settings, and yours stay
    what you add             sandbox.writable, and writable in a profile

All else is read-only, your home directory too. Keys, credentials, browsers' profiles,
histories of shells and middleman's own state cannot be read; sandbox.hide and sandbox.show
change the list. The environment is the allow-list (` + "`middleman help environment`" + `) and what the
profile or --env names.

Inside, ` + "`middleman` has `report`, `approve --agent` and `spawn -d`" + `, for this session alone.

What is committed inside comes into the repository when the server sees it, when the session
ends, and before a diff, merge, push or delete: ` + "`middleman sandbox import`" + ` does it at once. The
workspace's branch moves if nothing else has moved it; everything else that is new, and what
is staged or stashed, is kept by refs below refs/middleman/sandbox/. ` + "`show`" + ` lists them.`

func (c commands) sandboxCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "What a sandboxed session may touch; import what it has committed",
		Long:  sandboxHelp,
		Args:  cli.Args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "import WORKSPACE",
		Short: "Import what the sandboxed sessions of a workspace have committed",
		Long: `Import what the sandboxed sessions of a workspace have committed, now. The server does it
by itself when it sees a commit, when a session ends, and before what needs the commits.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error { return c.importSandbox(cmd.Context(), given[0]) },
	})
	return cmd
}

func (c commands) importSandbox(ctx context.Context, name string) error {
	server, w, err := catalog.OnServer(ctx, c.CLI, name)
	if err != nil {
		return err
	}
	defer server.Close()
	out, err := server.ImportSandbox(ctx, w.ID)
	if err != nil {
		return err
	}
	err = c.Print(out, func() error {
		fmt.Fprintf(c.Out, "%s on %s\n", plaintext.Count(out.Commits, "commit"), plaintext.Line(cmp.Or(out.Branch, "no branch")))
		for _, ref := range out.Kept {
			fmt.Fprintln(c.Out, "kept", plaintext.Line(ref))
		}
		return nil
	})
	if out.Problem != "" {
		return errors.Join(err, errors.New(out.Problem))
	}
	return err
}

// tellSandbox prints what a session may touch.
func (c commands) tellSandbox(s api.Session) {
	b := s.Sandbox
	if b == nil {
		fmt.Fprintf(c.Out, "sandbox of %s: %s\n", plaintext.Line(catalog.Label(s)), sandbox.None)
		return
	}
	fmt.Fprintf(c.Out, "sandbox of %s: %s, by %s, policy %s\n", plaintext.Line(catalog.Label(s)), b.Level, b.Method, plaintext.Line(b.Digest))
	for _, line := range [][2]string{
		{"writable", strings.Join(b.Writable, ", ")}, {"a copy of its own", strings.Join(b.Private, ", ")}, {"temporary files", b.Temp},
		{"network", b.Network}, {"secrets", strings.Join(b.Secrets, ", ")}, {"limits", b.Limits}, {"not covered", b.NotCovered},
	} {
		fmt.Fprintf(c.Out, "    %-18s %s\n", line[0], plaintext.Line(cmp.Or(line[1], "-")))
	}
	for _, d := range s.Denied {
		fmt.Fprintf(c.Out, "    %-18s %s\n", "denied", plaintext.Line(fmt.Sprintf("%s %s %s: %s", d.Time.Local().Format(time.TimeOnly), d.Via, d.Target, d.Rule)))
	}
}

// shownDenials is how many denials of a network list are shown for a session.
const shownDenials = 5

// addDenials adds what the network list of each session denied last, from the
// session's state.
func (c commands) addDenials(sessions []api.Session) {
	if c.Runtime != "" {
		return // they are told with each session
	}
	for i := range sessions {
		s := &sessions[i]
		if s.Sandbox == nil || len(s.Sandbox.Hosts) == 0 {
			continue
		}
		denied, err := egress.ReadDenials(c.Dirs.Denials(s.ID), shownDenials)
		if err != nil {
			fmt.Fprintf(c.Errs, "%s: %s\n", plaintext.Line(catalog.Label(*s)), plaintext.Line(err.Error()))
		}
		s.Denied = denied
	}
}

// sandboxHead returns where HEAD is in the sandbox of w, "" on the workspace's branch or if
// that is not known.
func sandboxHead(w api.Workspace) string {
	if w.Brought == nil || w.Brought.Head == "" {
		return ""
	}
	if branch, is := strings.CutPrefix(w.Brought.Head, "refs/heads/"); is {
		return "branch " + branch
	}
	return "commit " + cli.Short(w.Brought.Head)
}

// broughtLines formats what was imported from a sandbox, for show.
func broughtLines(b *api.Brought) (lines [][2]string) {
	if b == nil {
		return nil
	}
	if at := sandboxHead(api.Workspace{Brought: b}); at != "" {
		lines = append(lines, [2]string{"its sandbox is on", at})
	}
	for _, ref := range b.Kept {
		lines = append(lines, [2]string{"kept from its sandbox", ref})
	}
	if b.Problem != "" {
		lines = append(lines, [2]string{"sandbox", b.Problem})
	}
	return lines
}
