package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
)

// Limits of files that git reads whole, and of CheckFiles.
const (
	maxRef     = 1 << 20 // bytes of a ref, HEAD or commondir
	maxPacked  = 1 << 30 // bytes of packed-refs or an index
	checkTime  = 500 * time.Millisecond
	checkFiles = 100_000
	noLimit    = -1
)

// CheckFiles returns an error that wraps ErrHeldUp if git would wait for a file of
// the git directory dir, or read it without end: one that nearly every git command opens.
// Others it does not look at: Command finds them when git waits for them.
//
// With alone no link may lead out of dir: git sees something else there than we do.
//
// It ends after half a second, or 100,000 files. What it could not read or had no time
// for it does not report.
func CheckFiles(ctx context.Context, dir string, alone bool) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if odd := oddOpened(ctx, dir, alone); odd != nil {
		return odd
	}
	return nil
}

// oddOpened is CheckFiles without its limit of time.
func oddOpened(ctx context.Context, dir string, alone bool) *heldUp {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	c := filesCheck{root: root, alone: alone, most: checkFiles}
	for _, name := range alwaysRead {
		if c.visit(ctx, name); c.found != nil {
			break
		}
	}
	return c.found
}

// oddAnywhere finds a file below dir that git cannot read, or returns nil.
func oddAnywhere(ctx context.Context, dir string) *heldUp {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	c := filesCheck{root: root, most: math.MaxInt}
	c.visit(ctx, ".")
	return c.found
}

// filesCheck is one CheckFiles.
type filesCheck struct {
	root  *os.Root
	alone bool
	most  int // how many files it visits
	seen  int
	found *heldUp
}

// visit checks a file, or all files of a directory.
func (c *filesCheck) visit(ctx context.Context, name string) {
	info, err := c.root.Lstat(name)
	if err != nil || !info.IsDir() {
		c.check(name, info)
		return
	}
	_ = fs.WalkDir(c.root.FS(), name, func(at string, entry fs.DirEntry, err error) error {
		if c.seen++; ctx.Err() != nil || c.seen > c.most {
			return fs.SkipAll
		}
		if err != nil || entry.IsDir() && !isFile(at) || entry.Type().IsRegular() && c.limit(at) == noLimit {
			return nil // an error: it is missing, or just being replaced
		}
		if info, err := entry.Info(); err == nil {
			c.check(at, info)
		}
		if c.found != nil {
			return fs.SkipAll
		}
		return nil
	})
}

// alwaysRead are the files of a git directory that nearly every command opens, and the
// directories that it reads files of. A directory of a worktree below worktrees/ has the
// same names.
var alwaysRead = []string{
	"HEAD", "config", "config.worktree", "commondir", "packed-refs", "shallow", "refs", "reftable", "index", "worktrees",
	"info", "objects/info", "objects/pack", "logs/refs/stash",
}

// ownName is at as a path in the directory of its worktree.
func ownName(at string) string {
	if rest, ok := strings.CutPrefix(at, "worktrees/"); ok {
		_, at, _ = strings.Cut(rest, "/")
	}
	return at
}

// isFile reports whether git cannot go on with a directory, or a socket, at that place.
func isFile(at string) bool {
	at = ownName(at)
	return path.Dir(at) == "objects/pack" || slices.Contains([]string{
		"HEAD", "config", "config.worktree", "commondir", "packed-refs", "shallow", "index", "objects/info/alternates", "objects/info/commit-graph",
	}, at)
}

// limit returns how large a file may be that git reads whole, or noLimit.
func (c *filesCheck) limit(at string) int64 {
	at = ownName(at)
	top, _, _ := strings.Cut(at, "/")
	switch {
	case top == "refs" || slices.Contains([]string{"HEAD", "commondir", "gitdir", "locked"}, at):
		return maxRef
	case top == "info" || top == at && strings.ToUpper(at) == at || // such as FETCH_HEAD and MERGE_MSG
		slices.Contains([]string{"rebase-merge", "sequencer"}, top) || slices.Contains([]string{"config", "config.worktree", "shallow", "objects/info/alternates", "logs/refs/stash"}, at):
		return oddSize
	case at == "packed-refs" || at == "index" || top == "logs" || top == "rebase-apply" || strings.HasPrefix(at, "sharedindex.") || c.alone && !strings.HasSuffix(at, ".pack"):
		return maxPacked
	}
	return noLimit
}

// check checks the file at a path, of which info is known without following a link.
func (c *filesCheck) check(at string, info fs.FileInfo) {
	if info == nil {
		return
	}
	where := filepath.Join(c.root.Name(), filepath.FromSlash(at))
	quoted := plaintext.Quoted(where)
	if info.Mode()&fs.ModeSymlink != 0 {
		followed, err := c.root.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return
		case err != nil && c.alone:
			c.found = &heldUp{path: where, why: quoted + " is a link that leads out of its git directory, or nowhere", fails: true}
			return
		case err != nil:
			if followed, err = os.Stat(where); err != nil {
				return
			}
		}
		info = followed
	}
	limit := c.limit(at)
	switch {
	case info.Mode().IsRegular() && limit != noLimit && info.Size() > limit:
		c.found = tooLarge(where, quoted, info)
	case isFile(at) && info.Mode()&(fs.ModeDir|fs.ModeSocket) != 0:
		c.found = &heldUp{path: where, why: quoted + " is " + plainfile.Kind(info.Mode()) + ", not a file", fails: true}
	default:
		c.found = oddAs(where, info)
	}
}

// heldUp is an ErrHeldUp with the file that it is about.
type heldUp struct {
	path  string
	why   string // names the file too
	fails bool   // git does not wait for it
}

func (h *heldUp) Error() string {
	if h.fails {
		return h.why + ": git cannot read it; remove it"
	}
	return fmt.Sprintf("%s: %v", h.why, ErrHeldUp)
}

func (h *heldUp) Unwrap() error { return ErrHeldUp }

// HeldUpBy returns the path of the file that an error which wraps ErrHeldUp is about, or
// "".
func HeldUpBy(err error) string {
	if h, ok := errors.AsType[*heldUp](err); ok {
		return h.path
	}
	return ""
}

// oddAs says why git waits for a file of that type. It allows a socket, which git cannot
// open, and the null device.
func oddAs(name string, info fs.FileInfo) *heldUp {
	mode := info.Mode()
	if mode&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeCharDevice) == 0 {
		return nil
	}
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(null, info) {
		return nil
	}
	return &heldUp{path: name, why: plaintext.Quoted(name) + " is " + plainfile.Kind(mode) + ", not a file"}
}

func tooLarge(path, quoted string, info fs.FileInfo) *heldUp {
	return &heldUp{path: path, why: fmt.Sprintf("%s has %d MiB", quoted, info.Size()>>20), fails: true}
}
