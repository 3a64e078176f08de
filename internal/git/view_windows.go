package git

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// alternateTo returns the line of objects/info/alternates for a directory of objects.
// See gitrepository-layout(5): no absolute path of Windows begins as a comment or a
// quoted one.
func alternateTo(objects, _ string) (line string, err error) { return filepath.ToSlash(objects), nil }

// share makes a part of a repository readable at path, by a copy: an ordinary user can
// make no links. What was removed meanwhile is left out, and so is what is no file.
func share(part, path string) error {
	return filepath.WalkDir(part, func(from string, entry fs.DirEntry, err error) error {
		if err == nil {
			var below string
			if below, err = filepath.Rel(part, from); err == nil {
				err = shareOne(from, filepath.Join(path, below), entry.Type())
			}
		}
		if errors.Is(err, fs.ErrNotExist) && from != part {
			return nil
		}
		return err
	})
}

func shareOne(from, to string, kind fs.FileMode) error {
	switch {
	case kind.IsDir():
		return os.Mkdir(to, 0o700)
	case !kind.IsRegular(), strings.HasSuffix(from, ".lock"):
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	// git compares the time of an index with the times of files.
	return errors.Join(err, target.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
