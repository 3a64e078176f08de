package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"middleman/internal/fault"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
)

const (
	maxSkippedTold = 10
	copyPiece      = 64 << 20 // bytes between two looks whether to go on
)

// errInWay: the worktree has something else where a directory would have to be.
var errInWay = errors.New("the worktree has no directory there")

// copier copies files from one checkout to another, one after the other. Both
// are open directories, which no name leaves.
type copier struct {
	from, to  *os.Root
	temporary string // in to, of a file that is not whole yet
	report    Progress
	told      time.Time

	names   []string
	total   int64 // bytes of names
	files   int   // copied
	bytes   int64
	there   int
	skipped []string
	more    int // skipped, not told
}

// copy copies one file or link, unless there is something in its place.
func (c *copier) copy(ctx context.Context, name string) error {
	if _, err := c.to.Lstat(name); err == nil {
		c.there++
		return nil
	}
	if err := c.directories(name); errors.Is(err, errInWay) {
		c.skip(name, err)
		return nil
	} else if err != nil {
		return err
	}
	info, err := c.from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		err = c.link(name)
	} else {
		err = c.file(ctx, name)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		c.there++
		return nil
	case errors.Is(err, plainfile.ErrRefused), errors.Is(err, fs.ErrPermission):
		c.skip(name, err)
		return nil
	case err == nil:
		c.files++
		c.tell(0)
	}
	return err
}

// directories makes those above name that the worktree lacks, with the modes
// that they have in the other checkout. A link is none, wherever it leads.
func (c *copier) directories(name string) error {
	for _, dir := range above(name) {
		info, err := c.to.Lstat(dir)
		switch {
		case err == nil && info.IsDir():
			continue
		case err == nil:
			return fmt.Errorf("%s is %s: %w", plaintext.Quoted(dir), plainfile.Kind(info.Mode()), errInWay)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		original, err := c.from.Lstat(dir)
		if err != nil {
			return err
		}
		if err := c.to.Mkdir(dir, original.Mode().Perm()|0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// link copies a link as it is. Where it leads is not looked at.
func (c *copier) link(name string) error {
	target, err := c.from.Readlink(name)
	if err != nil {
		return err
	}
	return c.to.Symlink(target, name)
}

// file copies a file's content, mode and time to a file of another name, and
// puts that in its place when it is whole, unless something is there by then.
func (c *copier) file(ctx context.Context, name string) error {
	source, info, err := plainfile.Open(c.from, name)
	if err != nil {
		return err
	}
	defer source.Close()
	copied, err := c.to.OpenFile(c.temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = c.to.Remove(c.temporary) }() // by now it has its own name as well, or is of no use
	err = c.content(ctx, copied, source, info.Size())
	if err == nil {
		err = copied.Chmod(info.Mode().Perm())
	}
	if err := errors.Join(err, copied.Close()); err != nil {
		return err
	}
	if err := c.to.Chtimes(c.temporary, time.Time{}, info.ModTime()); err != nil {
		return err
	}
	fault.Here("copy/written")
	if err := c.place(name); err != nil {
		return err
	}
	fault.Here("copy/placed")
	c.bytes += info.Size()
	return nil
}

// content fills a new file. Both share their blocks where the file system can
// do that.
func (c *copier) content(ctx context.Context, to, from *os.File, size int64) error {
	if err := fault.Error("copy/content"); err != nil {
		return err
	}
	if cloneFile(to, from) == nil {
		return nil
	}
	for done := int64(0); done < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(to, from, min(copyPiece, size-done))
		done += n
		if errors.Is(err, io.EOF) {
			return nil // it has become shorter
		}
		if err != nil {
			return err
		}
		c.tell(done)
	}
	return nil
}

// place gives the temporary file its name: by a link, which replaces nothing.
func (c *copier) place(name string) error {
	err := c.to.Link(c.temporary, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links: it was looked at a moment ago.
	if _, missing := c.to.Lstat(name); !errors.Is(missing, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return c.to.Rename(c.temporary, name)
}

// tell reports how far a copy is that takes long; more is what has come of a
// file that is not whole.
func (c *copier) tell(more int64) {
	if time.Since(c.told) < copyTold {
		return
	}
	c.told = time.Now()
	c.report(Stage{Name: "copy", State: "running", Time: c.told.UTC(),
		Detail: fmt.Sprintf("%d of %d files, %s of %s", c.files, len(c.names), size(c.bytes+more), size(c.total))})
}
