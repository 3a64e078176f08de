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
	"middleman/internal/scratch"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// IncludeFile names, in the main checkout, the files that Copy copies, in the syntax of .gitignore.
const IncludeFile = ".worktreeinclude"

// Limits for one workspace.
const (
	maxInclude   = 256 << 10 // bytes of IncludeFile
	maxCopyFiles = 200_000
	maxCopyBytes = 8 << 30
	copyTold     = time.Second // the shortest time between two progress reports
)

// CopyRequest says what Copy copies.
type CopyRequest struct {
	// Patterns are added to those of .worktreeinclude.
	Patterns []string
	// Hides returns which file or directory is hidden from who uses the copy, of those that
	// a path without links leads to or through; "" is none. nil hides nothing.
	Hides func(path string) (by string, err error)
	// FileBytes bounds the size of each file, 0 for no bound.
	FileBytes int64
}

// Copy copies files that git ignores, such as .env, from the repository's main
// checkout to the worktree of w. It copies those that .worktreeinclude in the
// main checkout or r.Patterns name. Both have the syntax of .gitignore, and only
// git reads them.
//
// Copy reports a stage "copy" if there are any patterns. It may be repeated: it
// never replaces a file. It keeps modes and times, and copies links as links.
// It skips nested repositories, everything that is neither file nor link, what is
// hidden, and files that are too large, and names what it skipped. If the limits are exceeded it copies nothing.
// After an error every copied file is complete.
//
// .worktreeinclude needs no consent: it copies the user's files from one of the
// user's checkouts to another, but for what r.Hides, whoever wrote it. Copy reads it in
// the main checkout, not in the commit that the workspace begins at.
func (m *Manager) Copy(ctx context.Context, w Workspace, r CopyRequest, progress Progress) (err error) {
	defer model.Containing(w.Name, &err)
	if w.Mode != ModeWorktree || git.SameDir(w.Repository, w.GitDir) { // a bare repository has no checkout
		return nil
	}
	top, err := filepath.EvalSymlinks(w.Repository)
	if err != nil {
		return fmt.Errorf("find main checkout: %w", err)
	}
	from, err := os.OpenRoot(top)
	if err != nil {
		return fmt.Errorf("open main checkout: %w", err)
	}
	defer from.Close()
	report := progress.OrSilent()
	lines, err := plainfile.Read(from, IncludeFile, maxInclude)
	refused := err
	if errors.Is(err, fs.ErrNotExist) {
		refused = nil
	}
	for _, pattern := range r.Patterns {
		lines = append(append(lines, '\n'), pattern...)
	}
	if len(lines) == 0 && refused == nil {
		return nil
	}
	return report.Detailed("copy", func() (string, error) {
		c := &copier{request: r, top: top, from: from, temporary: ".middleman-copy-" + w.ID, report: report, told: time.Now()}
		if refused != nil {
			c.skip(IncludeFile, refused)
		}
		if err := m.copyTo(ctx, c, w, lines); err != nil {
			return "", fmt.Errorf("copy files that git ignores from %s: %w", plaintext.Quoted(w.Repository), err)
		}
		return c.summary(), nil
	})
}

// copyTo decides what to copy before it copies anything.
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
	defer c.leave()
	// A killed copy may have left this file.
	if err := c.to.Remove(c.temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range c.names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.copy(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", plaintext.Quoted(name), err)
		}
	}
	return nil
}

// openRoot opens the directory of w. It must be where it was made, and no link.
func (m *Manager) openRoot(w Workspace) (*os.Root, error) {
	base, err := basedir.Holding(m.base, w)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	root, err := plainfile.OpenDir(base.Root, basedir.Name(w))
	if errors.Is(err, plainfile.ErrRefused) {
		return nil, fmt.Errorf("open %s: %w: %w", w.Root, ErrEscapes, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", w.Root, err)
	}
	return root, nil
}

// ignoredBy returns the files of a checkout that match patterns and that git
// ignores by its own rules. Tracked files are never among them.
func ignoredBy(ctx context.Context, p git.Dirs, patterns []byte) ([]string, error) {
	dir, err := scratch.Make("include")
	if err != nil {
		return nil, fmt.Errorf("keep the patterns for git: %w", err)
	}
	defer dir.Close()
	file := filepath.Join(dir.Path, "patterns")
	if err := os.WriteFile(file, patterns, 0o600); err != nil {
		return nil, fmt.Errorf("keep the patterns for git: %w", err)
	}
	var named []string
	c := p.Look("ls-files", "--others", "--ignored", "--exclude-from="+file, "-z")
	c.Each = func(name string) { named = append(named, name) }
	if _, err := c.Run(ctx); err != nil || len(named) == 0 {
		return nil, err
	}
	var both []string
	c = p.Look("check-ignore", "--stdin", "-z")
	const here = "./" // a name that begins with ":" would be a pathspec
	c.Stdin = strings.NewReader(here + strings.Join(named, "\x00"+here) + "\x00")
	c.Each = func(name string) { both = append(both, strings.TrimPrefix(name, here)) }
	if _, err := c.Run(ctx); err != nil && git.ExitCode(err) != 1 { // status 1: no name is ignored
		return nil, err
	}
	return both, nil
}

// measure selects the names that can be copied, and enforces the limits.
func (c *copier) measure(names []string) error {
	for _, name := range names {
		if hidden, err := c.hides(name); hidden || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		size, why, err := c.look(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // the user has just removed it
		case err != nil:
			return err
		case why != nil:
			c.skip(name, why)
			continue
		}
		c.names = append(c.names, name)
		c.total += size
	}
	if len(c.names) > maxCopyFiles || c.total > maxCopyBytes {
		return fmt.Errorf("the patterns name %d files of %s, but at most %d of %s are copied; name fewer in %s or in copy, and retry",
			len(c.names), plaintext.Bytes(c.total), maxCopyFiles, plaintext.Bytes(maxCopyBytes), IncludeFile)
	}
	return nil
}

// hides reports whether a file is hidden, and records what hides it, once. What a hidden
// directory has in it is not told.
func (c *copier) hides(name string) (bool, error) {
	if c.request.Hides == nil {
		return false, nil
	}
	by, err := c.request.Hides(filepath.Join(c.top, name))
	if err != nil || by == "" {
		return false, err
	}
	if !slices.Contains(c.hidden, by) {
		c.hidden = append(c.hidden, by)
		shown, err := filepath.Rel(c.top, by)
		if err != nil || !filepath.IsLocal(shown) {
			shown = "all of it"
		}
		c.skip(shown, errHidden)
	}
	return true, nil
}

// look returns the size of a file, and why it is not to be copied, if it is not.
func (c *copier) look(name string) (size int64, why, err error) {
	if strings.HasSuffix(name, "/") {
		return 0, errors.New("it is a repository of its own"), nil
	}
	info, err := c.from.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil, err
	case err != nil:
		return 0, err, nil
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		why = errors.New("it is " + plainfile.Kind(info.Mode()))
	case slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }):
		why = errors.New("it is git's own")
	case c.request.FileBytes > 0 && info.Size() > c.request.FileBytes:
		why = c.fits(info.Size())
	}
	return info.Size(), why, nil
}

// summary says what was skipped, if anything, and what was copied.
func (c *copier) summary() string {
	text := plaintext.Count(c.files, "file") + ", " + plaintext.Bytes(c.bytes)
	if c.there > 0 {
		text += fmt.Sprintf("; %d existed already", c.there)
	}
	if len(c.skipped) == 0 {
		return text
	}
	if c.more > 0 {
		c.skipped = append(c.skipped, fmt.Sprintf("and %d more", c.more))
	}
	return Skipped + strings.Join(c.skipped, "; ") + "; copied " + text
}

// skip records why a file is not copied.
func (c *copier) skip(name string, why error) {
	if len(c.skipped) == maxSkippedTold {
		c.more++
		return
	}
	c.skipped = append(c.skipped, fmt.Sprintf("%s (%s)", plaintext.Quoted(name), why))
}

// above returns the directories above name, topmost first.
func above(name string) []string {
	var dirs []string
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}
