package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"middleman/internal/contain"
	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/look"
)

// Checkout fills the directory that Begin made for r, and returns the updated
// w. It does only what is missing, so the caller can repeat it after a failure
// or a crash. Files that a program or the user wrote meanwhile stay. After an
// error the directory stays as it is.
func (m *Manager) Checkout(ctx context.Context, r CreateRequest, w Workspace, progress Progress) (Workspace, error) {
	if w.Mode != ModeWorktree {
		return w, nil
	}
	base, err := basedir.Holding(m.base, w)
	if err == nil {
		defer base.Close()
		c := &checkout{w: w, base: base.Root, filters: r.Filters, report: progress.OrSilent()}
		err = contain.Call(func() error { return c.run(ctx) })
	}
	if err != nil {
		return w, fmt.Errorf("check out workspace %s: %w", w.Name, err)
	}
	w.Subdir = foundSubdir(w.Root, w.Subdir)
	return w, nil
}

// checkout is one run of Checkout.
type checkout struct {
	w       Workspace
	base    *os.Root
	filters bool // the repository's own configuration may run its filters and programs
	report  Progress

	filtered bool // it has filters, and they run
	at       git.Dirs
	held     *os.File // see git.HoldEntry
	tell     func(string)
	config   map[string]string
	way      git.Transport
	notes    []string // surprising results, for the report
}

func (c *checkout) run(ctx context.Context) error {
	err := c.report.Advancing("checkout", func(tell func(string)) (string, error) {
		c.tell = tell
		err := c.files(ctx)
		return strings.Join(c.notes, "; "), err
	})
	if err != nil {
		return err
	}
	return c.lfs(ctx)
}

// files fills the directory unless that is done already. git writes the index
// after the last file, so if there is an index all files are there.
func (c *checkout) files(ctx context.Context) error {
	made, err := c.base.Lstat(basedir.Name(c.w))
	if err != nil {
		return err
	}
	entry, err := git.FindEntry(c.w.GitDir, c.w.ID, c.w.Root)
	if err != nil {
		return err
	}
	if entry == "" {
		return fmt.Errorf("%s: its repository %s has no worktree there: %w", c.w.Root, c.w.GitDir, ErrMissing)
	}
	if err := look.CheckGitFile(c.w.Root, entry); err != nil {
		return err
	}
	if c.held, err = git.HoldEntry(ctx, entry); err != nil {
		return err
	}
	defer c.held.Close() // closing nil only returns an error
	c.at = git.Dirs{GitDir: entry, CommonDir: c.w.GitDir, WorkTree: c.w.Root}
	if err := contain.Together(
		func() error { return c.chooseFilters(ctx) },
		func() (err error) {
			c.way, err = git.ConsentedTransport(ctx, c.at, c.filters)
			return err
		},
	); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(entry, "index")); errors.Is(err, fs.ErrNotExist) {
		if err = c.fill(ctx); err != nil {
			return c.said().Explain(err)
		}
		if note := c.said().Note(); note != "" {
			c.notes = append(c.notes, note)
		}
	} else if err != nil {
		return err
	}
	if err := checkPlace(c.w.Root, made); err != nil {
		return err
	}
	return c.submodules(ctx)
}

// fill makes git write the files.
func (c *checkout) fill(ctx context.Context) error {
	fault.Here("create/checkout")
	// We hold the lock, so the process that wrote these has ended.
	for _, left := range []string{"index.lock", filledIndex, filledIndex + ".lock"} {
		if err := os.Remove(filepath.Join(c.at.GitDir, left)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	entries, err := os.ReadDir(c.w.Root)
	if err != nil {
		return err
	}
	if len(entries) > 1 { // .git is one of them
		return c.fillUp(ctx)
	}
	// With an empty index, git refuses to replace a file before it writes any.
	cmd := c.alter("read-tree", "-m", "-u", "-v", "HEAD")
	cmd.Errors = &progressReader{tell: c.tell}
	_, err = cmd.Run(ctx)
	fault.Here("create/checked-out")
	if err != nil || !c.filtered {
		return err
	}
	return c.refresh(ctx)
}

// refresh makes git compare the files that it has just written with the index, with the
// filters that the user has allowed. git does not trust the times of a file that was
// written in the same second as the index (racy-git(7)), and an inspection, which runs no
// filter, would find it changed. So it waits for the next second.
func (c *checkout) refresh(ctx context.Context) error {
	select {
	case <-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second + clockTick))):
	case <-ctx.Done():
		return ctx.Err()
	}
	if _, err := c.alter("update-index", "-q", "--refresh").Run(ctx); ctx.Err() != nil {
		return err
	}
	return nil // a filter that fails here has files that an inspection finds changed
}

// clockTick is longer than a tick of the clock that gives files their times.
const clockTick = 20 * time.Millisecond

// said returns the transport whose notes are worth reporting: only the checkout
// of a partial clone contacts a remote.
func (c *checkout) said() git.Transport {
	if c.way.Partial {
		return c.way
	}
	return git.Transport{}
}

// alter returns a command that writes the checkout.
func (c *checkout) alter(args ...string) git.Command {
	cmd := c.at.Alter(args...)
	cmd.Dir = c.w.Root
	cmd.Config = c.config
	cmd.Holds = c.held
	cmd.Env = append(cmd.Env, "GIT_PROGRESS_DELAY=1")
	return c.way.Over(cmd)
}

// chooseFilters turns off filters. Those of the repository's own configuration
// need consent. LFS has a stage of its own.
func (c *checkout) chooseFilters(ctx context.Context) error {
	config, err := c.at.WithoutFilters(ctx)
	if err != nil {
		return err
	}
	var off []string
	for key := range config {
		name := strings.TrimPrefix(key, "filter.")
		off = append(off, plaintext.Quoted(name[:strings.LastIndexByte(name, '.')]))
	}
	slices.Sort(off)
	off = slices.DeleteFunc(slices.Compact(off), func(name string) bool { return name == "lfs" })
	if c.filters {
		c.filtered = len(off) > 0
		config, off = map[string]string{}, nil
	}
	if len(off) > 0 {
		c.notes = append(c.notes, fmt.Sprintf("filters of the repository's configuration did not run (%s): --filters allows them", strings.Join(off, ", ")))
	}
	config["filter.lfs.smudge"], config["filter.lfs.process"], config["filter.lfs.required"] = "", "", "false"
	c.config = config
	return nil
}

// submodules notes how many submodules are not checked out. We never fetch
// them.
func (c *checkout) submodules(ctx context.Context) error {
	if _, err := os.Lstat(filepath.Join(c.w.Root, ".gitmodules")); err != nil {
		return nil
	}
	count := 0
	cmd := c.at.Look("ls-files", "--stage", "-z")
	cmd.Each = func(record string) {
		if strings.HasPrefix(record, "160000 ") {
			count++
		}
	}
	_, err := cmd.Run(ctx)
	if count > 0 {
		c.notes = append(c.notes, plaintext.Count(count, "submodule")+" not checked out: `git submodule update --init` does that")
	}
	return err
}
