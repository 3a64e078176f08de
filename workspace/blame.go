package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

const (
	blameTime = time.Second // for the search
	oddSize   = 64 << 20    // of a file that is read whole
)

// blamed is err with what may have caused it, where git was stopped or gave
// up: git waits for ever on a pipe that is called .gitignore, and takes a huge
// one into memory.
func blamed(err error, dir string) error {
	if err == nil || !errors.Is(err, context.DeadlineExceeded) && exitCode(err) < 128 {
		return err
	}
	odd := oddFile(dir)
	if odd == "" {
		return err
	}
	return fmt.Errorf("%w (%s is no file that git can read)", err, printable(odd))
}

// oddFile is one of the files that git reads wherever they lie, and cannot
// read; or "".
func oddFile(dir string) (found string) {
	until := time.Now().Add(blameTime)
	// Only what was found counts; a directory that cannot be read is passed over.
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if time.Now().After(until) {
			return fs.SkipAll
		}
		if !slices.Contains([]string{".gitignore", ".gitattributes", ".gitmodules"}, entry.Name()) {
			return nil
		}
		if info, err := entry.Info(); err == nil && (!info.Mode().IsRegular() || info.Size() > oddSize) {
			found, _ = filepath.Rel(dir, path)
			return fs.SkipAll
		}
		return nil
	})
	return found
}
