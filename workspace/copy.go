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

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// includeFile names, in the syntax of .gitignore, what Copy copies.
const includeFile = ".worktreeinclude"

// Limits of what is copied to one workspace.
const (
	maxInclude   = 256 << 10 // bytes of includeFile
	maxCopyFiles = 200_000
	maxCopyBytes = 8 << 30
	copyTold     = time.Second // between two reports of a copy that takes long
)

// Copy gives the worktree of w the files that git ignores in the repository's
// main checkout and that .worktreeinclude there, or patterns, name: .env and
// the like. Both are in the syntax of .gitignore and are read by git, and by
// nothing else.
//
// It is a stage, copy, where anything is named, and may be done again: what is
// there already is never replaced. Modes and times are kept, links are copied
// as links; repositories within the checkout, and what is neither file nor
// link, are left out and said. Nothing is copied where it is more than a
// workspace is meant for. What an error leaves are whole files.
//
// .worktreeinclude needs nobody's consent: it moves files of the user's from
// one checkout of theirs to another, and is read where the user works, not
// from the commit that the workspace begins at.
func (m *Manager) Copy(ctx context.Context, w Workspace, patterns []string, progress Progress) (err error) {
	defer model.Containing(w.Name, &err)
	if w.Mode != ModeWorktree || git.SameDir(w.Repository, w.GitDir) { // a bare repository has no checkout
		return nil
	}
	from, err := os.OpenRoot(w.Repository)
	if err != nil {
		return fmt.Errorf("open main checkout: %w", err)
	}
	defer from.Close()
	report := progress.OrSilent()
	lines, err := plainfile.Read(from, includeFile, maxInclude)
	refused := err
	if errors.Is(err, fs.ErrNotExist) {
		refused = nil
	}
	for _, pattern := range patterns {
		lines = append(append(lines, '\n'), pattern...)
	}
	if len(lines) == 0 && refused == nil {
		return nil
	}
	return report.Detailed("copy", func() (string, error) {
		c := &copier{from: from, temporary: ".middleman-copy-" + w.ID, report: report, told: time.Now()}
		if refused != nil {
			c.skip(includeFile, refused)
		}
		if err := m.copyTo(ctx, c, w, lines); err != nil {
			return "", fmt.Errorf("copy files that git ignores from %s: %w", plaintext.Quoted(w.Repository), err)
		}
		return c.summary(), nil
	})
}

// copyTo finds out what to copy before it copies anything.
func (m *Manager) copyTo(ctx context.Context, c *copier, w Workspace, patterns []byte) error {
	main := git.Dirs{GitDir: w.GitDir, CommonDir: w.GitDir, WorkTree: w.Repository}
	names, err := ignoredBy(ctx, main, patterns)
	if err != nil {
		return err
	}
	if err := c.measure(names); err != nil {
		return err
	}
	if c.to, err = m.openRoot(w); err != nil {
		return err
	}
	defer c.to.Close()
	// What a copy that was killed has left.
	if err := c.to.Remove(c.temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range c.names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.copy(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", plaintext.Quoted(name), err)
		}
	}
	return nil
}

// openRoot opens the directory of w, which must be where it was made and no
// link to another.
func (m *Manager) openRoot(w Workspace) (*os.Root, error) {
	base, err := basedir.Holding(m.base, w)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	seen, err := base.Lstat(w.ID)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", w.Root, err)
	}
	if !seen.IsDir() {
		return nil, fmt.Errorf("%s is %s: %w", w.Root, plainfile.Kind(seen.Mode()), ErrEscapes)
	}
	root, err := base.OpenRoot(w.ID)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", w.Root, err)
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(seen, opened) {
		_ = root.Close()
		return nil, errors.Join(fmt.Errorf("%s was replaced while it was opened: %w", w.Root, ErrEscapes), err)
	}
	return root, nil
}

// ignoredBy lists the files of a checkout that patterns name and git ignores, by
// its own rules. Tracked ones are never among them.
func ignoredBy(ctx context.Context, p git.Dirs, patterns []byte) ([]string, error) {
	file, err := os.CreateTemp("", "middleman-include-")
	if err != nil {
		return nil, fmt.Errorf("keep the patterns for git: %w", err)
	}
	defer os.Remove(file.Name())
	_, err = file.Write(patterns)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("keep the patterns for git: %w", err)
	}
	var named []string
	c := p.Look("ls-files", "--others", "--ignored", "--exclude-from="+file.Name(), "-z")
	c.Each = func(name string) { named = append(named, name) }
	if _, err := c.Run(ctx); err != nil || len(named) == 0 {
		return nil, err
	}
	var both []string
	c = p.Look("check-ignore", "--stdin", "-z")
	const here = "./" // a name may begin with ":", which would mean something
	c.Stdin = strings.NewReader(here + strings.Join(named, "\x00"+here) + "\x00")
	c.Each = func(name string) { both = append(both, strings.TrimPrefix(name, here)) }
	if _, err := c.Run(ctx); err != nil && git.ExitCode(err) != 1 { // 1: none is
		return nil, err
	}
	return both, nil
}

// measure keeps of names what can be copied, and refuses too much of it.
func (c *copier) measure(names []string) error {
	for _, name := range names {
		if strings.HasSuffix(name, "/") {
			c.skip(name, errors.New("it is a repository of its own"))
			continue
		}
		info, err := c.from.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // the user has just removed it
		case err != nil:
			c.skip(name, err)
			continue
		case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
			c.skip(name, errors.New("it is "+plainfile.Kind(info.Mode())))
			continue
		case slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }):
			c.skip(name, errors.New("it is git's own"))
			continue
		}
		c.names = append(c.names, name)
		c.total += info.Size()
	}
	if len(c.names) > maxCopyFiles || c.total > maxCopyBytes {
		return fmt.Errorf("%d files of %s are named: at most %d of %s are copied; name fewer in %s or in copy, and retry",
			len(c.names), size(c.total), maxCopyFiles, size(maxCopyBytes), includeFile)
	}
	return nil
}

// summary is what was done, and first what was not.
func (c *copier) summary() string {
	text := fmt.Sprintf("%d files, %s", c.files, size(c.bytes))
	if c.files == 1 {
		text = "1 file, " + size(c.bytes)
	}
	if c.there > 0 {
		text += fmt.Sprintf("; %d were there", c.there)
	}
	if len(c.skipped) == 0 {
		return text
	}
	if c.more > 0 {
		c.skipped = append(c.skipped, fmt.Sprintf("and %d more", c.more))
	}
	return Skipped + strings.Join(c.skipped, "; ") + "; copied " + text
}

// skip says that something is not copied, and why.
func (c *copier) skip(name string, why error) {
	if len(c.skipped) == maxSkippedTold {
		c.more++
		return
	}
	c.skipped = append(c.skipped, fmt.Sprintf("%s (%s)", plaintext.Quoted(name), why))
}

// size is a number of bytes for people.
func size(n int64) string {
	unit, units := float64(n), []string{"bytes", "KiB", "MiB", "GiB"}
	for unit >= 1024 && len(units) > 1 {
		unit, units = unit/1024, units[1:]
	}
	if units[0] == "bytes" {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", unit, units[0])
}

// above is the directories above name, from the top down.
func above(name string) []string {
	var dirs []string
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}
