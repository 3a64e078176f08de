package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/bundle"
	"middleman/internal/client"
	"middleman/internal/plaintext"
)

// leastPrefix is the least part of a digest that stands for it.
const leastPrefix = 8

func (c commands) bundleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bundle push|list|show|check|rm|diff|sync",
		Short: "Manage bundles: sets of profiles that several hosts share, by digest",
		Long: `Manage bundles: sets of profiles that several hosts share, by digest.

A bundle is a JSON file (docs/bundles.md). Its digest is the SHA-256 of its
content in one canonical form, the same on every host. BUNDLE is an ID, which is
its newest revision, or ID:REVISION, or ID@DIGEST; the first 8 digits of a digest
suffice. new -p ID/PROFILE starts a profile of the newest revision.

What a profile asks of this host beyond its sandbox (mounts, network, secrets and
more) is decided by policy.toml beside config.toml. Without a rule there a profile
gets what any session of its sandbox level has, and the rest is refused.
With --on RUNTIME the bundles of another machine are meant (middleman runtime).`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return cli.Usagef("bundle needs push, list, show, check, rm, diff or sync")
		},
	}
	var dryRun bool
	remove := &cobra.Command{
		Use: "rm BUNDLE... [-n]", Short: "Remove bundles: an ID with all its revisions, or one content", Args: cli.Args(cobra.MinimumNArgs(1)),
		Long: `Remove bundles: an ID with all its revisions, or one content.

A bundle that a session or a profile of config.toml uses is not removed: the error
names these.`,
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.WithServer(cmd.Context(), func(ctx context.Context, server *client.Client) error {
				return c.removeBundles(ctx, server, given, dryRun)
			})
		},
	}
	remove.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "only print what would be removed")
	one := func(use, short string, run func(ctx context.Context, server *client.Client, given []string) error, args cobra.PositionalArgs) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: cli.Args(args), RunE: func(cmd *cobra.Command, given []string) error {
			return c.WithServer(cmd.Context(), func(ctx context.Context, server *client.Client) error { return run(ctx, server, given) })
		}}
	}
	list := one("list", "List the bundles that are stored", c.listBundles, cobra.NoArgs)
	list.Aliases = []string{"ls"}
	cmd.AddCommand(
		one("push FILE|-", "Check a bundle and store it", c.pushBundle, cobra.ExactArgs(1)), list,
		one("show BUNDLE", "Show a bundle: its profiles, what they ask of a host, who uses it", c.showBundle, cobra.ExactArgs(1)),
		one("check FILE|BUNDLE", "Check a file and say whether it is stored here, or whether a bundle is here with that digest and undamaged", c.checkBundle, cobra.ExactArgs(1)),
		remove,
		one("diff OLD NEW", "Show what differs between two bundles, each a file or a BUNDLE", c.diffBundles, cobra.ExactArgs(2)),
	)
	sync := one("sync RUNTIME [BUNDLE...]", "Bring bundles to another machine that lacks them", c.syncBundles, cobra.MinimumNArgs(1))
	sync.Long = `Bring bundles to another machine that lacks them: all that are stored here, or those that
are named. Each is compared by its digest, and sent whole. What it grants is decided by
the policy there.`
	cmd.AddCommand(sync)
	cmd.PersistentFlags().StringVar(&c.Runtime, "on", "", "the bundles of the `RUNTIME`, instead of those of this machine")
	return cmd
}

// nameBundle completes a request for the profile of a bundle, ID/NAME[@DIGEST]: without
// a digest it means the newest revision that is stored where the session runs. If that
// is another machine, and this one has other content, nameBundle says so.
func (c commands) nameBundle(ctx context.Context, server *client.Client, in *api.NewSession) error {
	if in == nil {
		return nil
	}
	profile, digest, _ := strings.Cut(in.Profile, "@")
	id, name, of := strings.Cut(profile, "/")
	if !of {
		return nil
	}
	if digest == "" {
		newest, err := server.Bundle(ctx, id, "")
		if err != nil {
			return err
		}
		digest = newest.Digest
		here := newest
		if server.Runtime() != "" {
			here, _ = server.Here().Bundle(ctx, id, "") // there may be none
		}
		if here.Digest != "" && here.Digest != digest {
			c.Warn(fmt.Sprintf("%s runs its own content of bundle %s, revision %d; this machine has revision %d: `middleman bundle sync %[1]s %[2]s` brings that there, %[2]s/%[5]s@DIGEST names one",
				c.Runtime, id, newest.Revision, here.Revision, name))
		}
	}
	in.Profile, in.Bundle = name, &api.BundleRef{ID: id, Digest: digest}
	return nil
}

// readBundle reads a bundle from a file, or from standard input for "-".
func (c commands) readBundle(file string) (bundle.Bundle, []byte, error) {
	in := io.Reader(c.In)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return bundle.Bundle{}, nil, err
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, bundle.MaxBytes+1))
	if err != nil {
		return bundle.Bundle{}, nil, fmt.Errorf("read bundle %s: %w", file, err)
	}
	b, err := bundle.Decode(raw)
	if err != nil {
		return b, nil, fmt.Errorf("bundle %s: %w", file, err)
	}
	return b, raw, nil
}

func (c commands) pushBundle(ctx context.Context, server *client.Client, given []string) error {
	_, raw, err := c.readBundle(given[0])
	if err != nil {
		return err
	}
	pushed, err := server.PushBundle(ctx, raw)
	if err != nil {
		return err
	}
	return c.Print(pushed, func() error {
		if !pushed.New {
			fmt.Fprintln(c.Errs, "It was stored already.")
		}
		_, err := fmt.Fprintf(c.Out, "%s@%s\n", pushed.Bundle.ID, pushed.Bundle.Digest)
		return err
	})
}

func (c commands) listBundles(ctx context.Context, server *client.Client, _ []string) error {
	list, err := server.Bundles(ctx)
	if err != nil {
		return err
	}
	return c.Print(map[string]any{"bundles": cli.NotNil(list)}, func() error {
		if len(list) == 0 {
			fmt.Fprintln(c.Errs, "There are no bundles; `middleman bundle push FILE` stores one.")
			return nil
		}
		t := c.Table("ID", "REVISION", "DIGEST", "PROFILES", "STORED")
		for _, b := range list {
			revision := strconv.FormatInt(b.Revision, 10)
			if !b.Newest {
				revision += " (old)"
			}
			t.Row(b.ID, revision, cli.Short(b.Digest), cmp.Or(b.Problem, strings.Join(b.Profiles, ", ")), cli.Age(b.StoredAt))
		}
		return t.Flush()
	})
}

// find returns the bundle that a BUNDLE means.
func (c commands) find(ctx context.Context, server *client.Client, text string) (api.Bundle, error) {
	id, digest, byDigest := strings.Cut(text, "@")
	id, revision, byRevision := strings.Cut(id, ":")
	switch {
	case byDigest && byRevision:
		return api.Bundle{}, cli.Usagef("%q names a revision and a digest: give one", text)
	case byDigest && len(digest) < leastPrefix:
		return api.Bundle{}, cli.Usagef("%q: give at least %d digits of the digest", text, leastPrefix)
	case !byDigest && !byRevision || len(digest) == 64:
		return server.Bundle(ctx, id, digest)
	}
	list, err := server.Bundles(ctx)
	if err != nil {
		return api.Bundle{}, err
	}
	var found []api.Bundle
	for _, b := range list {
		if b.ID == id && (byDigest && strings.HasPrefix(b.Digest, digest) || byRevision && strconv.FormatInt(b.Revision, 10) == revision) {
			found = append(found, b)
		}
	}
	if len(found) != 1 {
		return api.Bundle{}, bundle.Errorf(bundle.ErrMissing, "%d bundles here are %s: `middleman bundle list` lists them", len(found), text)
	}
	return server.Bundle(ctx, id, found[0].Digest)
}

// open returns the content of a file, or of a BUNDLE.
func (c commands) open(ctx context.Context, server *client.Client, text string) (bundle.Bundle, error) {
	if isFile(text) {
		b, _, err := c.readBundle(text)
		return b, err
	}
	shown, err := c.find(ctx, server, text)
	if err != nil {
		return bundle.Bundle{}, err
	}
	if shown.Problem != "" {
		return bundle.Bundle{}, errors.New(shown.Problem)
	}
	b, err := bundle.Decode(shown.Content)
	if err == nil && b.Sum() != shown.Digest {
		err = bundle.Errorf(bundle.ErrDigest, "the server's answer has the digest %s, not %s", b.Sum(), shown.Digest)
	}
	return b, err
}

func (c commands) showBundle(ctx context.Context, server *client.Client, given []string) error {
	shown, err := c.find(ctx, server, given[0])
	if err != nil {
		return err
	}
	return c.Print(shown, func() error {
		for _, line := range []struct{ what, is string }{
			{"bundle", shown.ID}, {"revision", strconv.FormatInt(shown.Revision, 10)}, {"digest", shown.Digest}, {"newest", map[bool]string{true: "yes", false: "no"}[shown.Newest]},
			{"created", shown.Created}, {"stored", cli.Age(shown.StoredAt)}, {"workspace", shown.Workspace}, {"problem", shown.Problem},
			{"used by", strings.Join(shown.Users, ", ")},
		} {
			if line.is != "" {
				fmt.Fprintf(c.Out, "%-18s%s\n", line.what, plaintext.Line(line.is))
			}
		}
		if shown.Problem != "" {
			return nil
		}
		b, err := bundle.Decode(shown.Content)
		if err != nil {
			return err
		}
		for _, name := range shown.Profiles {
			p := b.Profiles[name]
			fmt.Fprintf(c.Out, "profile %-10s%s\n", name, plaintext.Line(strings.Join(p.Command, " ")))
			for _, d := range b.Asks(p) {
				fmt.Fprintf(c.Out, "  asks for        %s\n", plaintext.Line(asked(d)))
			}
		}
		return nil
	})
}

// asked describes a declaration.
func asked(d bundle.Declaration) string {
	text := d.Ref.String()
	if d.Env != "" {
		text += " as " + d.Env
	}
	if d.Write {
		text += ", writable"
	}
	if d.Optional {
		text += " (optional)"
	}
	return text
}

func (c commands) checkBundle(ctx context.Context, server *client.Client, given []string) error {
	if isFile(given[0]) {
		return c.checkBundleFile(ctx, server, given[0])
	}
	id, digest := "", ""
	if b, err := c.open(ctx, server, given[0]); err == nil {
		id, digest = b.ID, b.Sum()
	} else if id, digest, _ = strings.Cut(given[0], "@"); len(digest) != 64 || !errors.Is(err, bundle.ErrDigest) && !isProblem(err, api.CodeBundleDigest) {
		return err
	}
	v, err := server.CheckBundle(ctx, id, digest)
	if err != nil {
		return err
	}
	err = c.Print(v, func() error {
		if v.Available {
			fmt.Fprintf(c.Out, "%s@%s is here\n", v.ID, v.Digest)
		}
		return nil
	})
	if !v.Available {
		return &api.Problem{Code: v.Code, Detail: v.Reason}
	}
	return err
}

// checkBundleFile checks a file, and says whether its content is stored.
func (c commands) checkBundleFile(ctx context.Context, server *client.Client, file string) error {
	b, _, err := c.readBundle(file)
	if err != nil {
		return err
	}
	v, err := server.CheckBundle(ctx, b.ID, b.Sum())
	if err != nil {
		return err
	}
	stored := "is here"
	if !v.Available {
		if of, err := c.find(ctx, server, fmt.Sprintf("%s:%d", b.ID, b.Revision)); err == nil {
			return fmt.Errorf("%s has revision %d of bundle %s with the digest %s, which is stored here with %s: give it a higher revision", file, b.Revision, b.ID, b.Sum(), of.Digest)
		}
		stored = "is valid, and not stored here"
	}
	return c.Print(v, func() error {
		fmt.Fprintf(c.Out, "%s@%s %s\n", v.ID, v.Digest, stored)
		return nil
	})
}

// isFile reports whether text names a file, or standard input, and not a bundle.
func isFile(text string) bool {
	info, err := os.Stat(text)
	return text == "-" || err == nil && info.Mode().IsRegular()
}

func isProblem(err error, code string) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && p.Code == code
}

func (c commands) removeBundles(ctx context.Context, server *client.Client, given []string, dryRun bool) error {
	return c.Each(ctx, given, "removed", func(text string) error {
		id, digest := text, ""
		if strings.ContainsAny(text, "@:") {
			b, err := c.find(ctx, server, text)
			if err != nil {
				return err
			}
			id, digest = b.ID, b.Digest
		}
		removed, err := server.RemoveBundle(ctx, id, digest, dryRun)
		if err != nil {
			return err
		}
		return c.Print(removed, func() error {
			for _, b := range removed.Bundles {
				fmt.Fprintf(c.Out, "%s@%s, revision %d\n", b.ID, b.Digest, b.Revision)
			}
			return nil
		})
	})
}

func (c commands) diffBundles(ctx context.Context, server *client.Client, given []string) error {
	old, err := c.open(ctx, server, given[0])
	if err != nil {
		return err
	}
	now, err := c.open(ctx, server, given[1])
	if err != nil {
		return err
	}
	changes := bundle.Diff(old, now)
	return c.Print(map[string]any{"old": old.Sum(), "new": now.Sum(), "changes": cli.NotNil(changes)}, func() error {
		printChanges(c.CLI, changes)
		return nil
	})
}

// printChanges prints each difference as the lines that are gone and new.
func printChanges(c *cli.CLI, changes []bundle.Change) {
	for _, change := range changes {
		if change.Old != "" {
			fmt.Fprintf(c.Out, "- %s: %s\n", plaintext.Line(change.Field), plaintext.Line(change.Old))
		}
		if change.New != "" {
			fmt.Fprintf(c.Out, "+ %s: %s\n", plaintext.Line(change.Field), plaintext.Line(change.New))
		}
	}
}

// synced is what became of one bundle in a sync.
type synced struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
	New    bool   `json:"new"`
}

// syncBundles pushes bundles to a runtime, the older ones first, so that the newest
// revision there is that of here.
func (c commands) syncBundles(ctx context.Context, server *client.Client, given []string) error {
	if c.Runtime != "" {
		return cli.Usagef("sync names its RUNTIME as an argument, and takes no --on")
	}
	to := server.On(given[0])
	list, err := server.Bundles(ctx)
	if len(given) > 1 {
		list = nil
	}
	for _, text := range given[1:] {
		var b api.Bundle
		if b, err = c.find(ctx, server, text); err != nil {
			return err
		}
		list = append(list, b)
	}
	if err != nil {
		return err
	}
	out := []synced{}
	for _, b := range list {
		done, err := c.syncOne(ctx, server, to, b)
		if err != nil {
			return fmt.Errorf("bring %s@%s to %s: %w", b.ID, cli.Short(b.Digest), to.Runtime(), err)
		}
		out = append(out, done)
	}
	return c.Print(map[string]any{"bundles": out}, func() error {
		for _, b := range out {
			state := "was there"
			if b.New {
				state = "brought"
			}
			fmt.Fprintf(c.Out, "%s@%s %s\n", b.ID, cli.Short(b.Digest), state)
		}
		return nil
	})
}

// syncOne pushes a bundle to a runtime, unless it is there.
func (c commands) syncOne(ctx context.Context, from, to *client.Client, b api.Bundle) (synced, error) {
	done := synced{ID: b.ID, Digest: b.Digest}
	there, err := to.CheckBundle(ctx, b.ID, b.Digest)
	if err != nil || there.Available {
		return done, err
	}
	content, err := c.open(ctx, from, b.ID+"@"+b.Digest)
	if err != nil {
		return done, err
	}
	pushed, err := to.PushBundle(ctx, content.Canonical())
	if err == nil && pushed.Bundle.Digest != b.Digest {
		err = bundle.Errorf(bundle.ErrDigest, "it says that it stored the digest %q", pushed.Bundle.Digest)
	}
	done.New = pushed.New
	return done, err
}
