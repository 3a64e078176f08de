package keep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/look"
)

// Limits for keeping ignored files. git lists an ignored file or a whole
// ignored directory as one entry. An entry is kept up to maxIgnoredBytes and
// maxIgnoredFiles, a directory that looks disposable up to maxDisposableBytes, all
// together up to maxIgnoredTotal. So local settings, credentials, databases and logs come
// back, and directories of build results do not. A repository among ignored files is
// always kept.
const (
	maxIgnoredBytes    = 32 << 20
	maxDisposableBytes = 1 << 20
	maxIgnoredFiles    = 1000
	maxIgnoredTotal    = 128 << 20
)

// verdict says whether a file is kept, and whether a directory's entries are
// visited.
type verdict struct{ keep, descend bool }

// choice says which ignored files of one workspace are kept.
type choice struct {
	skip   map[string]bool // too large to keep
	repos  []string        // kept even below skip
	any    bool            // something ignored is kept
	unkept []string
	// large are those of skip that are not disposable, by name with a directory's slash,
	// and why they are not kept.
	large map[string]string
}

// chooseIgnored measures what git ignores in dir and chooses what to keep. With
// exactly it measures the size of what is too large too; else it stops counting
// at the limit.
func chooseIgnored(dir string, seen look.Findings, exactly bool) (choice, error) {
	c := choice{skip: map[string]bool{}, large: map[string]string{}, repos: seen.Repositories}
	if dir == "" {
		return c, nil
	}
	kept := map[string]bool{} // repositories, whatever their size
	for _, name := range seen.Repositories {
		kept[filepath.Join(dir, filepath.FromSlash(name))] = true
	}
	left := int64(maxIgnoredTotal)
	for _, name := range seen.Ignored {
		path, limit := filepath.Join(dir, filepath.FromSlash(name)), int64(maxIgnoredBytes)
		isDir := strings.HasSuffix(name, "/")
		if isDir && disposableDir(path) {
			limit = maxDisposableBytes
		}
		size, fits, err := measure(path, min(left, limit), kept)
		if errors.Is(err, fs.ErrPermission) {
			return c, unreadable([]string{"something in " + name})
		}
		if err != nil {
			return c, fmt.Errorf("measure %s: %w", plaintext.Quoted(name), err)
		}
		if fits {
			left -= size
			c.any = true
			continue
		}
		c.skip[strings.TrimSuffix(name, "/")] = true
		why := "too large"
		if exactly {
			if why, err = extent(path, kept); err != nil {
				return c, fmt.Errorf("measure %s: %w", plaintext.Quoted(name), err)
			}
		}
		c.unkept = append(c.unkept, "ignored "+plaintext.Quoted(name)+" ("+why+")")
		if isDir && limit != maxDisposableBytes || !isDir && !disposableFile(path) {
			c.large[name] = why
		}
	}
	return c, nil
}

// extent describes the size of what is at path and not in kept, for people.
func extent(path string, kept map[string]bool) (string, error) {
	var bytes int64
	files := 0
	err := filepath.WalkDir(plainfile.Exact(path), func(at string, entry fs.DirEntry, err error) error {
		if err == nil && isKept(at, path, kept) {
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files++
		bytes += info.Size()
		return nil
	})
	size := fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	if files != 1 {
		size = fmt.Sprintf("%d files, %s", files, size)
	}
	return size + ": too large", err
}

// isKept reports whether at, which a walk of path with its exact name has reached, is in kept.
func isKept(at, path string, kept map[string]bool) bool {
	return len(kept) > 0 && kept[path+strings.TrimPrefix(at, plainfile.Exact(path))]
}

// measure reports whether everything at path that is not in kept fits in limit bytes and
// maxIgnoredFiles entries, and its size if it fits.
func measure(path string, limit int64, kept map[string]bool) (size int64, fits bool, err error) {
	files := 0
	err = filepath.WalkDir(plainfile.Exact(path), func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if isKept(at, path, kept) {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if files++; info.Mode().IsRegular() {
			size += info.Size()
		}
		if files > maxIgnoredFiles || size > limit {
			return fs.SkipAll
		}
		return nil
	})
	return size, files <= maxIgnoredFiles && size <= limit, err
}

// verdict returns the verdict for name.
func (c choice) verdict(name string) verdict {
	for _, repo := range c.repos {
		if name == repo || strings.HasPrefix(name, repo+"/") || strings.HasPrefix(repo, name+"/") {
			return verdict{keep: true, descend: true}
		}
	}
	for at := name; len(c.skip) > 0; {
		if c.skip[at] {
			return verdict{}
		}
		i := strings.LastIndexByte(at, '/')
		if i < 0 {
			break
		}
		at = at[:i]
	}
	return verdict{keep: true, descend: true}
}

// listing is what listFiles finds. odd names, one per line, what is not kept: sockets and
// the like, and the setuid and setgid bits of files that belong to another user or group.
// closed names what we may not read; a directory's name ends with a slash.
type listing struct {
	files       []file
	odd, closed []string
}

// listFiles lists what is in dir, beginning with dir itself as ".".
func listFiles(dir string, judge func(name string, dir bool) verdict) (l listing, err error) {
	dir = plainfile.Exact(dir)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		below, relErr := filepath.Rel(dir, path)
		name := filepath.ToSlash(below)
		switch {
		case relErr != nil:
			return relErr
		case errors.Is(err, fs.ErrPermission) && entry != nil:
			l.closed = append(l.closed, name+"/")
			return fs.SkipDir
		case err != nil:
			return err
		}
		v := verdict{keep: true, descend: true}
		if name != "." {
			v = judge(name, entry.IsDir())
		}
		if v.keep {
			if err := l.add(path, name); err != nil {
				return err
			}
		}
		if entry.IsDir() && !v.descend {
			return fs.SkipDir
		}
		return nil
	})
	return l, err
}

// add adds the file at path.
func (l *listing) add(path, name string) error {
	f, err := describeFile(path, name)
	switch {
	case errors.Is(err, fs.ErrPermission):
		l.closed = append(l.closed, name)
	case err != nil:
		return err
	case f.Mode.IsRegular(), f.Mode.IsDir(), f.Mode.Type() == fs.ModeSymlink:
		l.files = append(l.files, f)
		if f.Bits != f.Mode&specialBits {
			l.odd = append(l.odd, "setuid or setgid of "+plaintext.Quoted(name)+" (it belongs to another user or group)")
		}
		if !isReadable(path, f.Mode) {
			l.closed = append(l.closed, name)
		}
	default:
		l.odd = append(l.odd, oddName(name))
	}
	return nil
}

// listOdd is listing.odd of what is in dir, for a delete that keeps no snapshot. It opens
// directories alone, and passes over what goes meanwhile or cannot be opened.
func listOdd(dir string, judge func(name string) verdict) (odd []string, err error) {
	dir = plainfile.Exact(dir)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		below, relErr := filepath.Rel(dir, path)
		switch {
		case relErr != nil:
			return relErr
		case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || below == ".":
			return err
		}
		name := filepath.ToSlash(below)
		v := judge(name)
		switch kind := entry.Type(); {
		case kind.IsDir() && !v.descend:
			return fs.SkipDir
		case v.keep && !kind.IsDir() && !kind.IsRegular() && kind != fs.ModeSymlink:
			odd = append(odd, oddName(name))
		}
		return nil
	})
	return odd, err
}

// oddName is the line of what is neither file, link nor directory.
func oddName(name string) string {
	return plaintext.Quoted(name) + " (it is not a file, link or directory)"
}

// isReadable reports whether we may read a file. It opens only one that not everybody may
// read; the walk opens directories.
func isReadable(path string, mode fs.FileMode) bool {
	if !mode.IsRegular() || mode.Perm()&0o444 == 0o444 {
		return true
	}
	f, err := plainfile.OpenFollowed(path)
	if err == nil {
		err = f.Close()
	}
	return !errors.Is(err, fs.ErrPermission)
}

// unreadable returns the error for what we may not read: git could not store it.
func unreadable(names []string) error {
	const most = 5
	var list []string
	for _, name := range names[:min(most, len(names))] {
		list = append(list, plaintext.Quoted(name))
	}
	if n := len(names) - most; n > 0 {
		list = append(list, fmt.Sprintf("%d more", n))
	}
	return fmt.Errorf("%s %w", strings.Join(list, ", "), errUnreadable)
}

// specialBits are the mode bits beyond the permissions.
const specialBits = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// bitsToKeep returns the special bits that a restored file may have. A restored
// file belongs to us. A setuid or setgid bit of another user's file would give
// our rights away, so it is dropped. On directories these bits give no rights.
func bitsToKeep(info fs.FileInfo) fs.FileMode {
	bits := info.Mode() & specialBits
	if bits == 0 || info.IsDir() {
		return bits
	}
	user, group := basedir.OwnedBy(info)
	if !user {
		bits &^= fs.ModeSetuid
	}
	if !group {
		bits &^= fs.ModeSetgid
	}
	return bits
}

func describeFile(path, name string) (file, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return file{}, err
	}
	f := file{Path: []byte(name), Mode: info.Mode(), Time: info.ModTime(), Bits: bitsToKeep(info), size: info.Size()}
	if f.Mode.Type() == fs.ModeSymlink {
		target, err := os.Readlink(path)
		if err != nil {
			return file{}, err
		}
		f.Target = []byte(target)
	}
	return f, nil
}
