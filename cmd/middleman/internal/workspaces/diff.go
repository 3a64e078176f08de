package workspaces

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
	"middleman/workspace"
)

// maxPatch is how many bytes of a patch are printed by default.
const maxPatch = 8 << 20

type diffOptions struct {
	client.DiffQuery
	stat, names, commits, behind, conflicts bool
}

func (c commands) diffCommand() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff [WORKSPACE] [--against base|merge-base|head|upstream] [--stat | --name-only | --commits | --conflicts] [-- PATH...]",
		Short: "Show what a workspace changes, its commits, or what it would conflict with",
		Long: `Show what a workspace changes. Its files, untracked ones included, are compared
with the commit where it left its base (--against merge-base), with its base as it
is now (base), with its own HEAD (head), or with its upstream (upstream). Without
WORKSPACE the command takes the one that contains the current directory. It runs
no program that the repository names: no filter, no external diff, no pager.`,
		RunE: func(cmd *cobra.Command, given []string) error {
			name, paths, err := diffArgs(given, cmd.ArgsLenAtDash())
			if err != nil {
				return err
			}
			o.Paths = paths
			return c.diff(cmd.Context(), name, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Against, "against", "", "compare with `WHAT`: merge-base (the default), base, head or upstream")
	flags.BoolVar(&o.stat, "stat", false, "only the number of changed lines of each file")
	flags.BoolVar(&o.names, "name-only", false, "only the names of files")
	flags.BoolVar(&o.commits, "commits", false, "the commits that the workspace has beyond its base, or upstream")
	flags.BoolVar(&o.behind, "behind", false, "with --commits: the commits that the workspace lacks")
	flags.BoolVar(&o.conflicts, "conflicts", false, "which other live workspaces it would conflict with")
	flags.BoolVar(&o.Tracked, "tracked", false, "leave out untracked files")
	flags.Int64Var(&o.Max, "max", maxPatch, "print at most `BYTES` of a patch, 0 for all")
	cmd.MarkFlagsMutuallyExclusive("stat", "name-only", "commits", "conflicts")
	return cmd
}

// diffArgs separates the workspace from the paths, which come after "--".
func diffArgs(given []string, dash int) (name string, paths []string, err error) {
	if dash < 0 {
		dash = len(given)
	}
	if dash > 1 {
		return "", nil, cli.Usagef("diff takes one WORKSPACE; put paths after --")
	}
	if dash == 1 {
		name = given[0]
	}
	return name, given[dash:], nil
}

func (c commands) diff(ctx context.Context, name string, o diffOptions) error {
	server, w, err := c.standingOn(ctx, name)
	if err != nil {
		return err
	}
	defer server.Close()
	if o.Paths, err = within(w.Root, o.Paths); err != nil {
		return err
	}
	switch {
	case o.commits:
		return c.diffCommits(ctx, server, w, o)
	case o.conflicts:
		return c.diffConflicts(ctx, server, w)
	case o.stat || o.names || c.JSON:
		return c.diffFiles(ctx, server, w, o)
	}
	return c.diffPatch(ctx, server, w, o)
}

// standingOn returns the server, which it starts where none runs, and the workspace that
// standingIn returns. It warns if the workspace's sandbox is on another branch. The caller
// closes the client.
func (c commands) standingOn(ctx context.Context, name string) (*client.Client, api.Workspace, error) {
	server, err := c.Server(ctx)
	if err != nil {
		return nil, api.Workspace{}, err
	}
	var w api.Workspace
	list, err := server.Workspaces(ctx)
	if err == nil {
		w, err = standingIn(list, name)
	}
	if err != nil {
		server.Close()
		return nil, api.Workspace{}, err
	}
	if at := sandboxHead(w); at != "" {
		c.Warn("its sandbox is on " + at + ", whose commits are not on branch " + w.Branch + ": what follows is of that branch and of the files; `middleman show " + c.Target(w.Label) + "` names the refs that keep the others")
	}
	return server, catalog.OnRuntime(c.CLI, api.Created{Workspace: w}).Workspace, nil
}

// optionalWorkspace returns the one argument, or "" for none. An empty one, as
// of an unset variable of a script, is refused.
func optionalWorkspace(given []string) (string, error) {
	if len(given) == 0 {
		return "", nil
	}
	if given[0] == "" {
		return "", catalog.SetOf(nil).None("workspace", "")
	}
	return given[0], nil
}

// standingIn returns the workspace with that name. If name is "" it returns the
// one that contains the current directory.
func standingIn(all []api.Workspace, name string) (api.Workspace, error) {
	if name != "" {
		return catalog.List{Workspaces: all}.Workspace(name)
	}
	here, err := canonicalDir()
	if err != nil {
		return api.Workspace{}, err
	}
	var found api.Workspace
	for _, w := range all {
		if below, err := filepath.Rel(w.Root, here); err == nil && filepath.IsLocal(below) && len(w.Root) > len(found.Root) {
			found = w
		}
	}
	if found.ID == "" {
		return found, cli.Usagef("%s is in no workspace: name one that `middleman ls` lists", here)
	}
	return found, nil
}

func canonicalDir() (string, error) {
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	return here, err
}

// within returns paths relative to the workspace's top. A relative path starts
// at the current directory if that is in the workspace, else at the top.
func within(root string, paths []string) ([]string, error) {
	here, err := canonicalDir()
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(root, here)
	if err != nil || !filepath.IsLocal(below) {
		below = "."
	}
	var out []string
	for _, given := range paths {
		path := filepath.Join(below, given)
		if filepath.IsAbs(given) {
			path, err = filepath.Rel(root, given)
		}
		if err != nil || given == "" || !filepath.IsLocal(path) {
			return nil, cli.Usagef("path %q is not in the workspace at %s", given, root)
		}
		out = append(out, filepath.ToSlash(path))
	}
	return out, nil
}

// diffPatch prints git's patch text: byte for byte, or safely for a terminal.
func (c commands) diffPatch(ctx context.Context, server *client.Client, w api.Workspace, o diffOptions) error {
	var out io.Writer = c.BytesOut
	var screen *patchScreen
	if viewer.IsTerminal(c.BytesOut) {
		screen = newPatchScreen(c.BytesOut)
		out = screen
	}
	leftOut, err := server.Patch(ctx, w.ID, o.DiffQuery, out)
	if screen != nil {
		screen.end()
	}
	if err == nil && leftOut > 0 {
		fmt.Fprintf(c.Errs, "middleman: %d more bytes are left out; --max 0 prints all, --stat only the files\n", leftOut)
	}
	return err
}

// Patch writes to out what diff shows at a terminal for the workspace with this id.
func Patch(ctx context.Context, c *cli.CLI, id string, out io.Writer) error {
	server, w, err := catalog.OnServer(ctx, c, id)
	if err != nil {
		return err
	}
	defer server.Close()
	screen := newPatchScreen(out)
	leftOut, err := server.Patch(ctx, w.ID, client.DiffQuery{Max: maxPatch}, screen)
	screen.end()
	if err == nil && leftOut > 0 {
		fmt.Fprintf(out, "%d more bytes are left out; `middleman diff --max 0 %s` prints all\n", leftOut, w.ID)
	}
	return err
}

func (c commands) diffFiles(ctx context.Context, server *client.Client, w api.Workspace, o diffOptions) error {
	diff, err := server.Diff(ctx, w.ID, o.DiffQuery)
	if err != nil {
		return err
	}
	return c.Print(diff, func() error {
		if o.names {
			for _, f := range diff.Files {
				fmt.Fprintln(c.Out, f.Path)
			}
		} else if err := c.statTable(diff); err != nil {
			return err
		}
		if diff.More > 0 {
			fmt.Fprintf(c.Errs, "middleman: and %d more files\n", diff.More)
		}
		for _, what := range diff.LeftOut {
			fmt.Fprintf(c.Errs, "middleman: not compared: %s\n", what)
		}
		return nil
	})
}

func (c commands) statTable(diff workspace.Diff) error {
	t := c.Table()
	for _, f := range diff.Files {
		lines := fmt.Sprintf("+%d -%d", f.Added, f.Deleted)
		if f.Binary {
			lines = "binary"
		}
		change := f.Change
		if f.Untracked {
			change = "untracked"
		}
		name := f.Path
		if f.From != "" {
			name = f.From + " -> " + f.Path
		}
		t.Row(change, lines, name)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	files := plaintext.Count(len(diff.Files)+diff.More, "file")
	fmt.Fprintf(c.Out, "%s, +%d -%d lines, against %s\n", files, diff.Added, diff.Deleted, diff.Of)
	return nil
}

func (c commands) diffCommits(ctx context.Context, server *client.Client, w api.Workspace, o diffOptions) error {
	list, err := server.Commits(ctx, w.ID, o.Against, o.behind)
	if err != nil {
		return err
	}
	return c.Print(list, func() error {
		t := c.Table()
		for _, commit := range list.Commits {
			t.Row(cli.Short(commit.Hash), cli.Age(commit.Time), commit.Author, commit.Subject)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(c.Errs, "middleman: %d ahead, %d behind of %s\n", list.Ahead, list.Behind, list.Of)
		return nil
	})
}

func (c commands) diffConflicts(ctx context.Context, server *client.Client, w api.Workspace) error {
	all, err := server.Conflicts(ctx, w.ID, func(done, total int) {
		fmt.Fprintf(c.Errs, "middleman: compared with %d of %d workspaces\n", done, total)
	})
	if err != nil {
		return err
	}
	return c.Print(all, func() error {
		t := c.Table("WORKSPACE", "MERGE", "FILES")
		for _, f := range all.Others {
			var files []string
			if len(f.Conflicts) > 0 {
				files = append(files, "conflict in "+strings.Join(f.Conflicts, ", "))
			}
			if len(f.BothChange) > 0 {
				files = append(files, "both change "+strings.Join(f.BothChange, ", "))
			}
			files = append(files, f.Unknown...)
			if f.Truncated {
				files = append(files, "and more")
			}
			t.Row(f.Workspace, f.Merge, cli.Dash(strings.Join(files, "; ")))
		}
		return t.Flush()
	})
}
