package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"middleman/internal/fault"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
)

const (
	maxSkippedTold = 10
	copyPiece      = 64 << 20 // bytes between two checks of the context
)

var (
	// errInWay: the worktree has something else in the place of a directory.
	errInWay = errors.New("the worktree has no directory there")
	// errHidden: programs in the worktree must not read it.
	errHidden = errors.New("it is hidden from sandboxed programs")
)

// copier copies files from one checkout to another, one by one. It reaches both
// through open directories, which no name can leave.
type copier struct {
	request   CopyRequest
	top       string // the path of from, without links
	from, to  *os.Root
	temporary string // a name in to, for a file that is still incomplete
	report    Progress
	told      time.Time

	// holder is the directory below from that at names, "" for none. See holding.
	holder *os.Root
	at     string

	names   []string
	total   int64 // bytes of all names
	files   int   // copied so far
	bytes   int64
	there   int
	hidden  []string // what Hides has returned
	skipped []string
	more    int // skipped beyond the first maxSkippedTold
}

// copy copies one file or link, unless the name is taken.
func (c *copier) copy(ctx context.Context, name string) error {
	if _, err := c.to.Lstat(name); err == nil {
		c.there++
		return nil
	}
	var info fs.FileInfo
	holder, err := c.holding(name)
	if err == nil {
		info, err = holder.Lstat(filepath.Base(name))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err == nil {
		err = c.directories(name)
	}
	switch {
	case err != nil:
	case info.Mode()&fs.ModeSymlink != 0:
		err = c.link(holder, name)
	default:
		err = c.file(ctx, holder, name)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		c.there++
		return nil
	case errors.Is(err, errInWay), errors.Is(err, plainfile.ErrRefused), errors.Is(err, fs.ErrPermission):
		c.skip(name, err)
		return nil
	case err == nil:
		c.files++
		c.tell(0)
	}
	return err
}

// holding opens the directory in the main checkout that holds name, step by step and through
// no link: one that was put there since the names were looked at would lead to what is
// hidden. It belongs to c until leave or the next call.
func (c *copier) holding(name string) (*os.Root, error) {
	dir := filepath.Dir(name)
	if dir == "." {
		return c.from, nil
	}
	if c.holder != nil && c.at == dir {
		return c.holder, nil
	}
	c.leave()
	at := c.from
	for part := range strings.SplitSeq(dir, string(filepath.Separator)) {
		next, err := plainfile.OpenDir(at, part)
		if at != c.from {
			_ = at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	c.holder, c.at = at, dir
	return at, nil
}

// leave closes what holding opened.
func (c *copier) leave() {
	if c.holder != nil {
		_ = c.holder.Close()
		c.holder = nil
	}
}

// directories makes the missing directories above name, with the modes that
// they have in the other checkout. A link does not count as a directory.
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

// link copies a symbolic link without looking at its target.
func (c *copier) link(holder *os.Root, name string) error {
	target, err := holder.Readlink(filepath.Base(name))
	if err != nil {
		return err
	}
	return c.to.Symlink(target, name)
}

// file copies a file's content, mode and time to a temporary file, and gives
// that its name once it is complete, unless the name is taken by then.
func (c *copier) file(ctx context.Context, holder *os.Root, name string) error {
	source, info, err := plainfile.Open(holder, filepath.Base(name))
	if err != nil {
		return err
	}
	defer source.Close()
	if err := c.fits(info.Size()); err != nil { // it may have grown since it was looked at
		return err
	}
	copied, err := c.to.OpenFile(c.temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = c.to.Remove(c.temporary) }() // after publish the file has its own name as well
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
	if err := c.publish(name); err != nil {
		return err
	}
	fault.Here("copy/placed")
	c.bytes += info.Size()
	return nil
}

// fits returns why a file of that size is not to be copied.
func (c *copier) fits(size int64) error {
	if most := c.request.FileBytes; most > 0 && size > most {
		return fmt.Errorf("it has %s, and the session that asked for this may write %s to a file: %w", plaintext.Bytes(size), plaintext.Bytes(most), plainfile.ErrRefused)
	}
	if c.bytes+size > maxCopyBytes {
		return fmt.Errorf("with it more than %s were to be copied: %w", plaintext.Bytes(maxCopyBytes), plainfile.ErrRefused)
	}
	return nil
}

// content fills a new file. The two files share blocks if the file system
// supports that. Else holes stay holes, and what does not fit on the disk is refused
// before anything is written.
func (c *copier) content(ctx context.Context, to, from *os.File, size int64) error {
	if err := fault.Error("copy/content"); err != nil {
		return err
	}
	if cloneFile(to, from) == nil {
		return nil
	}
	if needs, has := allocated(from, size), basedir.Room(to); needs > has {
		return fmt.Errorf("it takes %s, and the disk has %s: %w", plaintext.Bytes(needs), plaintext.Bytes(has), syscall.ENOSPC)
	}
	for done := int64(0); done < size; {
		start, end := nextData(from, done, size)
		for _, f := range []*os.File{from, to} {
			if _, err := f.Seek(start, io.SeekStart); err != nil {
				return err
			}
		}
		for done = start; done < end; {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n, err := io.CopyN(to, from, min(copyPiece, end-done))
			done += n
			if errors.Is(err, io.EOF) {
				return nil // the file became shorter
			}
			if err != nil {
				return err
			}
			c.tell(done)
		}
	}
	return to.Truncate(size) // it may end in a hole
}

// publish gives the temporary file its name by link(2), which replaces nothing.
func (c *copier) publish(name string) error {
	err := c.to.Link(c.temporary, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// The file system has no links. Check just before the rename.
	if _, missing := c.to.Lstat(name); !errors.Is(missing, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return c.to.Rename(c.temporary, name)
}

// tell reports the progress of a long copy, at most every copyTold. more is how
// many bytes of the current file are copied.
func (c *copier) tell(more int64) {
	if time.Since(c.told) < copyTold {
		return
	}
	c.told = time.Now()
	c.report(Stage{Name: "copy", State: "running", Time: c.told.UTC(),
		Detail: fmt.Sprintf("%d of %d files, %s of %s", c.files, len(c.names), plaintext.Bytes(c.bytes+more), plaintext.Bytes(c.total))})
}
