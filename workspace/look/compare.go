package look

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// Against says what to compare a workspace with.
type Against string

// The values of Against.
const (
	AgainstBase      Against = "base"       // the base as it is now
	AgainstMergeBase Against = "merge-base" // where the workspace branched off the current base
	AgainstHead      Against = "head"       // its own HEAD: shows what is not committed
	AgainstUpstream  Against = "upstream"   // its branch's upstream, as last fetched
)

// ErrNothingToCompare: there is no such base, upstream or common history.
var ErrNothingToCompare = errors.New("nothing to compare with")

const (
	diffTime = time.Minute
	// bigFile is the size from which git treats a file as binary.
	bigFile = "16m"
	// maxCompared is the size in bytes above which a changed file is not
	// compared: git would read all of it to hash it.
	maxCompared = 512 << 20
	// maxUntracked limits the untracked files of a diff, maxFiles its list.
	maxUntracked = 10_000
	maxFiles     = 5_000
)

// DiffRequest says what to compare.
type DiffRequest struct {
	Against Against  // "" is AgainstMergeBase, or AgainstHead without a base
	Tracked bool     // leave out untracked files
	Paths   []string // relative to the top, not patterns; none means everything
}

// Comparison compares a workspace's checkout with a commit. It runs no program
// of the repository and writes nothing in it. The caller closes it.
type Comparison struct {
	Against Against
	Of      string // the name of the other side
	Commit  string // its commit, or the empty tree
	// LeftOut names files that are not compared, one per line.
	LeftOut []string

	g         *git.View
	paths     []string
	untracked map[string]bool
	large     []string // tracked files above maxCompared
}

// Close removes the temporary files of a comparison.
func (c *Comparison) Close() { c.g.Close() }

// Compare prepares a comparison of w with what r asks for.
func (i *Inspector) Compare(ctx context.Context, w model.Workspace, r DiffRequest) (_ *Comparison, err error) {
	defer model.Containing(w.Name, &err)
	for _, path := range r.Paths {
		if !filepath.IsLocal(filepath.FromSlash(path)) || strings.ContainsRune(path, 0) {
			return nil, fmt.Errorf("path %s: not within the workspace: %w", plaintext.Quoted(path), model.ErrBadRequest)
		}
	}
	g, err := i.boxedView(ctx, w)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			g.Close()
			err = fmt.Errorf("compare workspace %s: %w", w.Name, err)
		}
	}()
	c := &Comparison{g: g, paths: r.Paths, untracked: map[string]bool{}}
	if c.Against, c.Of, c.Commit, err = against(ctx, g, w, r.Against); err != nil {
		return nil, err
	}
	return c, git.Blame(c.takeIndex(ctx, r.Tracked), g.WorkTree)
}

// boxedView opens a view of w whose commands all run in a sandbox if there is
// one, because they read files of the workspace.
func (i *Inspector) boxedView(ctx context.Context, w model.Workspace) (*git.View, error) {
	p, _, err := i.checkout(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("look at workspace %s: %w", w.Name, err)
	}
	g, err := i.views.Open(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("look at workspace %s: %w", w.Name, err)
	}
	g.Boxed = true
	return g, nil
}

// against finds the commit to compare with, and its name.
func against(ctx context.Context, g *git.View, w model.Workspace, asked Against) (Against, string, string, error) {
	if asked == "" {
		asked = AgainstMergeBase
		if w.Base == "" {
			asked = AgainstHead
		}
	}
	head, err := g.Commit(ctx, "HEAD")
	if err != nil {
		return asked, "", "", err
	}
	var name, commit string
	switch asked {
	case AgainstHead:
		if name, commit = "HEAD", head; head == "" {
			commit, err = g.EmptyTree(ctx)
		}
		return asked, name, commit, err
	case AgainstUpstream:
		name = "upstream"
		if commit, err = g.Commit(ctx, "@{upstream}"); err == nil && commit == "" {
			err = fmt.Errorf("branch %s has no upstream here: %w", plaintext.Quoted(w.Branch), ErrNothingToCompare)
		}
		return asked, name, commit, err
	case AgainstBase, AgainstMergeBase:
		if w.Base == "" {
			return asked, "", "", fmt.Errorf("it has no base; use --against head or upstream: %w", ErrNothingToCompare)
		}
		name, commit, err = baseNow(ctx, g, w)
	default:
		return asked, "", "", fmt.Errorf("against %q: it must be base, merge-base, head or upstream: %w", asked, model.ErrBadRequest)
	}
	if err != nil || asked == AgainstBase {
		return asked, plaintext.Quoted(name), commit, err
	}
	if head == "" {
		return asked, "", "", fmt.Errorf("HEAD: %w", model.ErrNoCommits)
	}
	common, err := mergeBase(ctx, g, head, commit)
	if err == nil && common == "" {
		err = fmt.Errorf("HEAD and %s have no history in common: %w", plaintext.Quoted(name), ErrNothingToCompare)
	}
	return asked, "merge base with " + plaintext.Quoted(name), common, err
}

// takeIndex copies the index and adds the untracked files to the copy, so that
// one diff shows them as additions.
func (c *Comparison) takeIndex(ctx context.Context, trackedOnly bool) error {
	err := copyRegular(c.g.Index, filepath.Join(c.g.Dir, "index"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := c.unhide(ctx); err != nil {
		return err
	}
	if err := c.passOver(ctx); err != nil || trackedOnly {
		return err
	}
	found, err := c.findUntracked(ctx)
	if err != nil || len(found) == 0 {
		return err
	}
	object, err := c.g.Look("hash-object", "--stdin").Line(ctx) // the empty blob: the file differs from it, so git reads the file
	if err != nil {
		return err
	}
	var entries strings.Builder
	for _, path := range found {
		fmt.Fprintf(&entries, "100644 %s 0\t%s\x00", object, path)
	}
	add := c.look("update-index", "-z", "--index-info")
	add.Stdin = strings.NewReader(entries.String())
	_, err = add.Run(ctx)
	return err
}

// unhide clears the flags that make git skip files in our copy of the index. It
// keeps skip-worktree for files that a sparse checkout leaves out. It also
// collects the files that are too large.
func (c *Comparison) unhide(ctx context.Context) error {
	hidden := map[string][]string{}
	list := c.look("ls-files", "-v", "-z")
	list.Each = func(record string) {
		tag, path, _ := strings.Cut(record, " ")
		if tag != strings.ToUpper(tag) {
			hidden["--no-assume-unchanged"] = append(hidden["--no-assume-unchanged"], path)
		}
		info, err := os.Lstat(filepath.Join(c.g.WorkTree, filepath.FromSlash(path)))
		if err == nil && strings.EqualFold(tag, "S") {
			hidden["--no-skip-worktree"] = append(hidden["--no-skip-worktree"], path)
		}
		if err == nil && info.Size() > maxCompared {
			c.large = append(c.large, path)
		}
	}
	if _, err := list.Run(ctx); err != nil {
		return err
	}
	for flag, paths := range hidden {
		if err := c.flag(ctx, flag, paths); err != nil {
			return err
		}
	}
	return nil
}

// flag changes one flag of files in our copy of the index.
func (c *Comparison) flag(ctx context.Context, flag string, paths []string) error {
	change := c.look("update-index", flag, "-z", "--stdin")
	change.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	_, err := change.Run(ctx)
	return err
}

// passOver leaves out too large tracked files if their size or time differs
// from the index, because git would read all of each.
func (c *Comparison) passOver(ctx context.Context) error {
	if len(c.large) == 0 {
		return nil
	}
	var changed []string
	list := c.look(append([]string{"diff-files", "--name-only", "-z", "--no-ext-diff", "--ignore-submodules=all", "--"}, c.large...)...)
	list.Each = func(path string) {
		changed = append(changed, path)
		c.LeftOut = append(c.LeftOut, plaintext.Quoted(path)+" has changed and is too large")
	}
	if _, err := list.Run(ctx); err != nil || len(changed) == 0 {
		return err
	}
	return c.flag(ctx, "--assume-unchanged", changed)
}

// findUntracked lists the untracked files below the requested paths. It names
// repositories in LeftOut.
func (c *Comparison) findUntracked(ctx context.Context) (found []string, err error) {
	more := 0
	list := c.look("ls-files", "--others", "--exclude-standard", "-z", "--")
	list.Args = append(list.Args, c.paths...)
	list.Each = func(path string) {
		switch {
		case strings.HasSuffix(path, "/"):
			c.LeftOut = append(c.LeftOut, plaintext.Quoted(path)+" is a repository of its own")
		case len(found) == maxUntracked:
			more++
		case c.tooLarge(path):
			c.LeftOut = append(c.LeftOut, plaintext.Quoted(path)+" is too large")
		default:
			found = append(found, path)
			c.untracked[path] = true
		}
	}
	if _, err := list.Run(ctx); err != nil {
		return nil, err
	}
	if more > 0 {
		c.LeftOut = append(c.LeftOut, fmt.Sprintf("%d more untracked files", more))
	}
	return found, nil
}

// tooLarge reports whether a file is larger than maxCompared.
func (c *Comparison) tooLarge(path string) bool {
	info, err := os.Lstat(filepath.Join(c.g.WorkTree, filepath.FromSlash(path)))
	return err == nil && info.Size() > maxCompared
}

// look returns a command on our copy of the index.
func (c *Comparison) look(args ...string) git.Command {
	cmd := c.g.Look(args...)
	cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+filepath.ToSlash(filepath.Join(c.g.Dir, "index")))
	cmd.Limit = diffTime
	return cmd
}

// diff returns a git diff of everything requested. The user's configuration
// does not change its format.
func (c *Comparison) diff(format ...string) git.Command {
	cmd := c.look(slices.Concat([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--find-renames",
		"--submodule=short", "--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/"}, format, []string{c.Commit, "--"}, c.paths)...)
	cmd.Config = map[string]string{"core.bigFileThreshold": bigFile, "core.quotePath": "true", "diff.noprefix": "false",
		"diff.mnemonicPrefix": "false", "diff.interHunkContext": "0", "diff.orderFile": os.DevNull, "diff.suppressBlankEmpty": "false"}
	return cmd
}

// Patch writes git's patch text to out. If most is not 0 it writes at most that
// many bytes, cut at the end of a line; leftOut is how many bytes it cut off.
// git quotes names. A binary file is named only.
func (c *Comparison) Patch(ctx context.Context, out io.Writer, most int64) (leftOut int64, err error) {
	cut := &cutter{to: out, most: most}
	cmd := c.diff("--patch")
	cmd.Output = cut
	_, err = cmd.Once(ctx) // no retry: a part may be written
	return cut.leftOut, git.Blame(err, c.g.WorkTree)
}

// cutter passes on whole lines until most bytes are written.
type cutter struct {
	to      io.Writer
	most    int64
	written int64
	leftOut int64
}

func (c *cutter) Write(p []byte) (int, error) {
	pass := p
	if c.leftOut > 0 {
		pass = nil
	} else if room := c.most - c.written; c.most > 0 && int64(len(p)) > room {
		pass = p[:strings.LastIndexByte(string(p[:room]), '\n')+1]
	}
	c.leftOut += int64(len(p) - len(pass))
	if len(pass) == 0 {
		return len(p), nil
	}
	n, err := c.to.Write(pass)
	c.written += int64(n)
	if err != nil {
		return n, err
	}
	return len(p), nil
}

// maxIndex bounds the size of an index in bytes.
const maxIndex = 1 << 30

// copyRegular copies a regular file of at most maxIndex bytes with its
// modification time. git compares an index's time with the times of files, to
// detect a file that changed just when the index was written.
func copyRegular(from, to string) error {
	root, err := os.OpenRoot(filepath.Dir(from))
	if err != nil {
		return err
	}
	defer root.Close()
	in, info, err := plainfile.Open(root, filepath.Base(from))
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	defer in.Close()
	if info.Size() > maxIndex {
		return fmt.Errorf("copy %s: it has %d MiB: git cannot read it; remove it: %w", plaintext.Quoted(from), info.Size()>>20, plainfile.ErrRefused)
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
