package launch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/agent"
	"middleman/internal/bundle"
	"middleman/internal/plaintext"
)

// versionTime bounds how long a program may take to print its version.
const versionTime = 10 * time.Second

// shownProfile is a profile as it is printed.
type shownProfile struct {
	Name    string `json:"name"`
	Program string `json:"program,omitempty"`
	Source  string `json:"source"`
	// Bundle is ID@DIGEST, and Asks what the profile asks of a host, of one of a bundle.
	Bundle   string   `json:"bundle,omitempty"`
	Asks     []string `json:"asks,omitempty"`
	Versions string   `json:"versions,omitempty"`
	Path     string   `json:"path,omitempty"`
	Found    string   `json:"version,omitempty"`
	Problem  string   `json:"problem,omitempty"`
	Command  []string `json:"command,omitempty"`
	Prompt   []string `json:"prompt,omitempty"`
	Identify []string `json:"identify,omitempty"`
	Resume   []string `json:"resume,omitempty"`
	Env      []string `json:"env,omitempty"`
	Sandbox  string   `json:"sandbox,omitempty"`
	Stop     []string `json:"stop,omitempty"`
	Grace    string   `json:"grace,omitempty"`
	// Directories and Writable are what a sandbox shows a copy of, and what it
	// lets the program change.
	Directories []string `json:"directories,omitempty"`
	Writable    []string `json:"writable,omitempty"`
	// Network are the hosts that it can reach there.
	Network []string `json:"network,omitempty"`
	// Secrets are the variables whose values it does not have there.
	Secrets []string `json:"secrets,omitempty"`
	// Status has the sources of the program's status, and Hooks how hooks reach it.
	Status    []string `json:"status"`
	Hooks     string   `json:"hooks"`
	Approvals bool     `json:"approvals,omitempty"`
	// Tested is the recording of the program that was judged right last.
	Tested *tested `json:"tested,omitempty"`
}

func (c commands) profileCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "List, show, check and test the profiles: the programs that -p starts",
		Long: `List, show, check and test the profiles: the programs that -p starts.

A profile says how a program is launched, which variables of the environment it
gets besides the allow-list, and how its conversation is taken up again. Profiles
of your own are in config.toml, below [profiles.NAME]; a repository's are in its
.middleman.toml, and count once you have agreed to them (` + "`middleman trust`" + `).`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listProfiles(cmd.Context()) },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Aliases: []string{"ls"}, Short: "List the built-in profiles, your own, and those of bundles", Args: cli.Args(cobra.NoArgs),
			RunE: func(cmd *cobra.Command, _ []string) error { return c.listProfiles(cmd.Context()) },
		},
		&cobra.Command{
			Use: "show NAME", Short: "Show what a profile runs", Args: cli.Args(cobra.ExactArgs(1)),
			RunE: func(cmd *cobra.Command, given []string) error { return c.showProfile(cmd.Context(), given[0]) },
		},
		&cobra.Command{
			Use: "check NAME", Short: "Run a profile's program to see its version", Args: cli.Args(cobra.ExactArgs(1)),
			Long: `Run a profile's program with --version, and say for which versions the profile
was written. The exit code is 1 if the program is not there or does not answer, and
if the profile cannot work as it is written.`,
			RunE: func(cmd *cobra.Command, given []string) error { return c.checkProfile(cmd.Context(), given[0]) },
		},
		c.recordCommand(), c.testCommand(),
	)
	return cmd
}

// profiles returns the built-in profiles and the user's own.
func (c commands) profiles() agent.Set { return agent.Profiles(c.Config.Profiles, nil) }

// named returns the profile of that name, and how it is printed.
func (c commands) named(name string) (agent.Profile, shownProfile, error) {
	p, ok := c.profiles()[name]
	if !ok {
		return p, shownProfile{}, fmt.Errorf("there is no profile %q; `middleman profile list` lists them", name)
	}
	return p, c.shown(p), nil
}

// shownNamed returns a profile as it is printed; ID/NAME is one of a bundle.
func (c commands) shownNamed(ctx context.Context, name string) (shownProfile, error) {
	if !strings.Contains(name, "/") {
		_, v, err := c.named(name)
		return v, err
	}
	list, err := c.bundledProfiles(ctx)
	for _, v := range list {
		if v.Name == name {
			return v, nil
		}
	}
	if err == nil {
		err = bundle.Errorf(bundle.ErrProfile, "no bundle here has a profile %s; `middleman profile list` lists them", name)
	}
	return shownProfile{}, err
}

// shown is show with what was tried on the real program.
func (c commands) shown(p agent.Profile) shownProfile {
	v := show(p)
	all, err := c.tests()
	if err != nil {
		fmt.Fprintln(c.Errs, "middleman:", err)
	}
	if t, is := all[p.RulesOf()]; is && len(v.Status) > 0 {
		v.Tested = &t
	}
	return v
}

// show looks for a profile's program in this shell's PATH.
func show(p agent.Profile) shownProfile {
	v := shownProfile{
		Name: p.Name, Program: p.Program, Source: p.Source, Versions: p.Versions,
		Command: p.Command, Prompt: p.Prompt, Identify: p.Identify, Resume: p.Resume, Env: p.Env, Sandbox: p.Sandbox, Stop: p.Stop, Grace: p.Grace,
		Directories: p.Directories, Writable: p.Writable, Network: p.Network, Secrets: p.Secrets,
		Status: []string{}, Approvals: p.Approvals,
	}
	hooks := p.Inject("")
	v.Hooks = hooks.About
	if hooks.Hooks {
		v.Status = append(v.Status, "hooks")
	}
	if p.HasRules() {
		v.Status = append(v.Status, "screen")
	}
	if len(p.Command) == 0 {
		return v
	}
	if name := p.Command[0]; strings.ContainsRune(filepath.ToSlash(name), '/') && !filepath.IsAbs(name) {
		v.Problem = name + " is a relative path, which is refused: give an absolute one, or a name that is in PATH"
		return v
	}
	path, err := exec.LookPath(p.Command[0])
	if err != nil {
		v.Problem = p.Command[0] + " is not in PATH"
		return v
	}
	v.Path = path
	return v
}

// statusBy names the sources of the program's status.
func (v shownProfile) statusBy() string {
	return cmp.Or(strings.Join(v.Status, ", "), "its exit alone")
}

// testedBy says whether the status was told rightly of the real program.
func (v shownProfile) testedBy() string {
	switch {
	case len(v.Status) == 0:
		return "-"
	case v.Tested == nil:
		return neverRun
	}
	return "right with " + cmp.Or(v.Tested.Program, "an unknown version")
}

func (c commands) listProfiles(ctx context.Context) error {
	var list []shownProfile
	for _, p := range c.profiles().List() {
		list = append(list, c.shown(p))
	}
	bundled, err := c.bundledProfiles(ctx)
	if err != nil {
		fmt.Fprintln(c.Errs, "middleman: profiles of bundles are left out:", err)
	}
	list = append(list, bundled...)
	return c.Print(map[string]any{"profiles": list}, func() error {
		t := c.Table("NAME", "PROGRAM", "FROM", "STATUS BY", "TESTED", "FOUND")
		for _, p := range list {
			t.Row(p.Name, cmp.Or(p.Program, "-"), p.Source, p.statusBy(), p.testedBy(), cmp.Or(p.Path, p.Problem, "-"))
		}
		return t.Flush()
	})
}

// bundledProfiles returns the profiles of the newest revision of each bundle.
func (c commands) bundledProfiles(ctx context.Context) (list []shownProfile, err error) {
	newest, err := catalog.NewestBundles(ctx, c.CLI)
	for _, b := range newest {
		for _, name := range slices.Sorted(maps.Keys(b.Profiles)) {
			v := c.shown(agent.Profile{Name: b.ID + "/" + name, Source: agent.Bundle, Definition: b.Profiles[name].Definition()})
			v.Bundle = b.ID + "@" + b.Sum()
			for _, d := range b.Asks(b.Profiles[name]) {
				v.Asks = append(v.Asks, asked(d))
			}
			list = append(list, v)
		}
	}
	return list, err
}

func (c commands) showProfile(ctx context.Context, name string) error {
	v, err := c.shownNamed(ctx, name)
	if err != nil {
		return err
	}
	return c.Print(v, func() error {
		for _, line := range []struct{ what, is string }{
			{"profile", v.Name},
			{"program", v.Program},
			{"from", v.Source},
			{"bundle", v.Bundle},
			{"asks for", strings.Join(v.Asks, ", ")},
			{"written for", v.Versions},
			{"found", cmp.Or(v.Path, v.Problem)},
			{"command", strings.Join(v.Command, " ")},
			{"first prompt", strings.Join(v.Prompt, " ")},
			{"new conversation", strings.Join(v.Identify, " ")},
			{"resume", strings.Join(v.Resume, " ")},
			{"environment", strings.Join(v.Env, " ")},
			{"sandbox", v.Sandbox},
			{"copied there", strings.Join(v.Directories, " ")},
			{"writable there", strings.Join(v.Writable, " ")},
			{"network there", strings.Join(v.Network, ", ")},
			{"secrets there", strings.Join(v.Secrets, ", ")},
			{"stop keys", strings.Join(v.Stop, " ")},
			{"grace", v.Grace},
			{"status by", v.statusBy()},
			{"hooks", v.Hooks},
			{"tested", v.testedBy()},
			{"approvals", map[bool]string{true: "answered by middleman approve"}[v.Approvals]},
		} {
			if line.is != "" {
				fmt.Fprintf(c.Out, "%-18s%s\n", line.what, plaintext.Line(line.is))
			}
		}
		return nil
	})
}

// checkProfile runs a profile's program with --version.
func (c commands) checkProfile(ctx context.Context, name string) error {
	p, v, err := c.named(name)
	if err != nil {
		return err
	}
	if v.Path != "" {
		v.Found, v.Problem = programVersion(ctx, v.Path)
	}
	if doubts := c.profiles().Doubts(p); v.Problem == "" && len(doubts) > 0 {
		v.Problem = strings.Join(doubts, "; ")
	}
	err = c.Print(v, func() error {
		switch {
		case v.Problem != "":
			return nil
		case len(v.Command) == 0:
			fmt.Fprintf(c.Out, "%s starts %s\n", v.Name, v.Program)
		default:
			fmt.Fprintf(c.Out, "%s: %s: %s\n", v.Name, plaintext.Line(v.Path), plaintext.Line(v.Found))
			if v.Versions != "" {
				fmt.Fprintf(c.Out, "the profile was written from the documentation of version %s\n", v.Versions)
			}
		}
		return nil
	})
	if v.Problem != "" {
		return fmt.Errorf("profile %s: %s", v.Name, v.Problem)
	}
	return err
}

// programVersion returns the first line that a program prints for --version, or
// why there is none.
func programVersion(ctx context.Context, path string) (version, problem string) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	switch {
	case ctx.Err() != nil:
		return "", fmt.Sprintf("%s --version does not answer in %v", path, versionTime)
	case err != nil:
		return "", fmt.Sprintf("%s --version: %v", path, err)
	case first == "":
		return "", path + " --version prints nothing"
	}
	return first, ""
}
