package keep

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/contain"
	"middleman/internal/git"
	"middleman/internal/plaintext"
)

// writeFiles makes files in root, which must not have them yet. It makes links
// last, and nothing leaves root, so no list can write elsewhere. It reports its
// progress to tell.
func writeFiles(ctx context.Context, p git.Dirs, root *os.Root, files []file, tell func(string)) error {
	var regular, links, dirs []file
	for _, f := range files {
		switch {
		case f.Mode.IsDir():
			dirs = append(dirs, f)
		case f.Mode.IsRegular():
			regular = append(regular, f)
		default:
			links = append(links, f)
		}
	}
	for _, f := range dirs {
		if f.name() == "." {
			continue
		}
		if err := root.Mkdir(f.name(), 0o700); err != nil {
			return err
		}
	}
	if err := writeContents(ctx, p, root, regular, tell); err != nil {
		return err
	}
	for _, f := range links {
		if err := root.Symlink(string(f.Target), f.name()); err != nil {
			return err
		}
	}
	for _, f := range slices.Backward(dirs) { // contents first: finish may make a directory read-only
		if err := f.finish(root); err != nil {
			return err
		}
	}
	return nil
}

func (f file) name() string { return filepath.FromSlash(string(f.Path)) }

// finish restores the permissions and the time of a file or directory.
func (f file) finish(root *os.Root) error {
	if err := root.Chmod(f.name(), f.Mode.Perm()|f.Bits&specialBits); err != nil {
		return err
	}
	return root.Chtimes(f.name(), f.Time, f.Time)
}

// writeContents makes the regular files with one run of git cat-file.
func writeContents(ctx context.Context, p git.Dirs, root *os.Root, files []file, tell func(string)) error {
	if len(files) == 0 {
		return nil
	}
	var names strings.Builder
	for _, f := range files {
		names.WriteString(f.Blob + "\n")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		c := p.Look("cat-file", "--batch", "--buffer")
		c.Stdin, c.Output, c.Change, c.Patience = strings.NewReader(names.String()), to, true, git.ChangeTime
		err := contain.Call(func() error {
			_, err := c.Run(ctx)
			return err
		})
		to.CloseWithError(err)
		ended <- err
	}()
	content, one := bufio.NewReaderSize(from, 1<<16), countFiles(tell, len(files))
	err := func() error {
		for _, f := range files {
			if err := f.write(root, content); err != nil {
				return fmt.Errorf("write %s: %w", plaintext.Quoted(string(f.Path)), err)
			}
			one()
		}
		return nil
	}()
	if err != nil {
		cancel()
	}
	from.CloseWithError(err) // else git would block on a pipe without a reader
	if failed := <-ended; err == nil {
		err = failed
	}
	return err
}

// write makes f from git's next output: "<object> blob <size>", the content and
// a line feed.
func (f file) write(root *os.Root, from *bufio.Reader) (err error) {
	head, err := from.ReadString('\n')
	if err != nil {
		return err
	}
	var object, kind string
	var size int64
	if _, err := fmt.Sscan(head, &object, &kind, &size); err != nil || object != f.Blob || kind != "blob" || size < 0 {
		return fmt.Errorf("git has no blob %s (%s): %w", f.Blob, plaintext.Quoted(strings.TrimSpace(head)), ErrDamagedSnapshot)
	}
	to, err := root.OpenFile(f.name(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(to, from, size)
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	if _, err := from.Discard(1); err != nil {
		return err
	}
	return f.finish(root)
}

// countEvery is the number of files between two progress reports.
const countEvery = 100

// silently is a tell function that reports nothing.
func silently(string) {}

// countFiles returns a function to call after each file. It reports to tell.
func countFiles(tell func(string), total int) (one func()) {
	done := 0
	return func() {
		if done++; done%countEvery == 0 {
			tell(fmt.Sprintf("%d of %d", done, total))
		}
	}
}
