package catalog

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/git"
)

// completionTime bounds what a completion waits for.
const completionTime = time.Second

const noFiles = cobra.ShellCompDirectiveNoFileComp

// AddCompletions makes cmd and its commands complete their arguments and the values
// of their flags. A completion reads the database and the repository. It asks no
// server and no session, so that nothing that hangs delays it.
func AddCompletions(c *cli.CLI, cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
		cmd.ValidArgsFunction = arguments(c, cmd)
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "bool" {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, values(c, f.Name)); err != nil {
			panic(err) // the flag is there, and has no other completion
		}
	})
	for _, sub := range cmd.Commands() {
		AddCompletions(c, sub)
	}
}

// arguments returns what completes the arguments of cmd, by its usage.
func arguments(c *cli.CLI, cmd *cobra.Command) cobra.CompletionFunc {
	switch {
	case takes(cmd, "TARGET"), takes(cmd, "WORKSPACE"):
		return Complete(c)
	case strings.HasPrefix(cmd.Use, "new "):
		return first(branches(true))
	case takes(cmd, "PATH"):
		return directories
	}
	return cobra.NoFileCompletions
}

// takes reports whether the usage of cmd has an argument of that name, which is not
// the value of a flag.
func takes(cmd *cobra.Command, argument string) bool {
	fields := strings.Fields(cmd.Use)
	for i, field := range fields {
		if strings.Trim(field, "[]|.") != argument {
			continue
		}
		before := ""
		if i > 0 && !strings.HasPrefix(field, "[") {
			before = strings.TrimLeft(fields[i-1], "[")
		}
		if before == "--" || !strings.HasPrefix(before, "-") {
			return true
		}
	}
	return false
}

// values returns what completes the values of the flag with that name.
func values(c *cli.CLI, flag string) cobra.CompletionFunc {
	switch flag {
	case "against":
		return words("merge-base", "base", "head", "upstream")
	case "backend":
		return words("auto", "tmux", "pty-owner")
	case "clipboard":
		return words("allow", "ask", "deny")
	case "format":
		return words("text", "ansi", "json")
	case "isolation":
		return words("worktree", "shared")
	case "mode":
		return words("worktree", "directory", "in-place")
	case "profile":
		return profiles(c)
	case "sandbox":
		return words("none")
	case "scope":
		return words("full", "read", "session")
	case "tls":
		return words("local")
	case "key":
		return words("Enter", "Escape", "Tab", "BSpace", "Up", "Down", "Left", "Right", "C-c", "C-d")
	case "base":
		return branches(false, "default")
	case "branch", "into":
		return branches(true)
	case "env":
		return variables
	case "parent", "session":
		return targets(c, true)
	case "directory", "dir", "markdown", "repository":
		return directories
	case "output", "tls-cert", "tls-key":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.NoFileCompletions
}

func words(list ...cobra.Completion) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, noFiles)
}

// profiles offers the built-in profiles and those of the user's settings.
func profiles(c *cli.CLI) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		for _, p := range agent.Profiles(c.Config.Profiles, nil).List() {
			names = append(names, p.Name)
		}
		return names, noFiles
	}
}

func directories(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// first returns what completes only a command's first argument as complete does.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(given) > 0 {
			return nil, afterDash(cmd, given)
		}
		return complete(cmd, given, typed)
	}
}

// afterDash completes files after "--" and a program, and nothing elsewhere. The
// library hides a "--" that nothing follows.
func afterDash(cmd *cobra.Command, given []string) cobra.ShellCompDirective {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 && dash < len(given) {
		return cobra.ShellCompDirectiveDefault
	}
	return noFiles
}

func variables(*cobra.Command, []string, string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	return names, noFiles
}

// branches offers more, and the branches of the repository in --directory or here. If
// local, a branch of a remote has the name that a local one gets; else all names
// are as git takes them, tags too.
func branches(local bool, more ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		dir := "."
		if f := cmd.Flag("directory"); f != nil {
			dir = cmp.Or(f.Value.String(), dir)
		}
		abs, err := cli.Absolute(dir)
		if err != nil {
			return more, noFiles
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		repository, err := git.Discover(ctx, abs)
		if err != nil {
			return more, noFiles
		}
		refs, err := repository.Here.Refs(ctx)
		if err != nil {
			return more, noFiles
		}
		names := more
		for _, ref := range refs {
			if name := shortRef(ref, local); name != "" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return slices.Compact(names), noFiles
	}
}

// shortRef returns the name of a ref as one types it, or "" for one that is not
// offered.
func shortRef(ref string, local bool) string {
	if name, is := strings.CutPrefix(ref, "refs/heads/"); is {
		return name
	}
	if name, is := strings.CutPrefix(ref, "refs/tags/"); is && !local {
		return name
	}
	name, is := strings.CutPrefix(ref, "refs/remotes/")
	_, branch, _ := strings.Cut(name, "/")
	switch {
	case !is || branch == "HEAD":
		return ""
	case local:
		return branch
	}
	return name
}

// Complete completes a command's argument. It offers the workspaces, and for a
// TARGET each session of those that have several. A command whose usage says
// "TARGET..." or "WORKSPACE..." takes several arguments.
func Complete(c *cli.CLI) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(given) > 0 && !strings.Contains(cmd.Use, "TARGET...") && !strings.Contains(cmd.Use, "WORKSPACE...") {
			return nil, afterDash(cmd, given)
		}
		names, directive := targets(c, !takes(cmd, "WORKSPACE"))(cmd, given, typed)
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(given, name) }), directive
	}
}

// targets offers the workspaces, and with sessions each session of those that have
// several.
func targets(c *cli.CLI, sessions bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		list, _, err := rows(ctx, c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		for _, w := range list.Workspaces {
			names = append(names, w.Label)
			if of := list.SessionsOf(w); sessions && len(of) > 1 {
				names = append(names, labels(of)...)
			}
		}
		return names, noFiles
	}
}

// CompleteDeleted completes the name of a deleted workspace.
func CompleteDeleted(c *cli.CLI) cobra.CompletionFunc {
	return first(func(cmd *cobra.Command, _ []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		deleted, err := deletedOnDisk(ctx, c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		for _, w := range deleted.Workspaces {
			names = append(names, w.Label)
		}
		return names, noFiles
	})
}

// labels returns the names of sessions, see Label.
func labels(sessions []api.Session) []string {
	names := make([]string, len(sessions))
	for i, s := range sessions {
		names[i] = Label(s)
	}
	return names
}
