package confine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"middleman/internal/agent"
	"middleman/internal/environ"
	"middleman/internal/plainfile"
	"middleman/internal/private"
	"middleman/internal/sandbox"
)

// Bounds of what a copy begins with. Settings and logins are small and few; past
// conversations may be neither.
const (
	maxCopied   = 64 << 20 // bytes of all files
	maxFile     = 8 << 20  // bytes of one
	maxFiles    = 5000
	maxEntries  = 50000 // looked at
	copiedMode  = 0o600
	tempPattern = ".middleman-copy-"

	copiesDirectory = "copies"  // in the private directory of a workspace
	originSuffix    = ".origin" // of a file beside a copy, with the path of what it is a copy of
)

// copies gives the program a copy of each directory of its profile: it keeps its login
// and its settings, and cannot change what it reads outside.
func (b *builder) copies() error {
	if b.Profile.Source == agent.Repository {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewTime)
	defer cancel()
	if _, err := b.RenewLogins(ctx, b.Workspace); err != nil { // before what is newer outside comes in
		b.note("%v", err)
	}
	for _, item := range b.Profile.Directories {
		d, err := agent.ParseDirectory(item)
		if err != nil {
			return err
		}
		if b.Parent != nil && !slices.Contains(b.ParentPrivate, d.Path) {
			b.note("it has no copy of %s, because the session that starts this worker has none", d.Path)
			continue
		}
		if err := b.copy(d); err != nil {
			return fmt.Errorf("copy %s for the sandbox: %w", d.Path, err)
		}
	}
	return b.watchLogins(ctx, b.Workspace, b.logins)
}

func (b *builder) copy(d agent.Directory) error {
	from := b.expand([]string{d.Path})[0]
	usual := true
	// A worker's variables are those that the program which starts it has named.
	if named := b.env.Lookup(d.Variable); d.Variable != "" && filepath.IsAbs(named) && b.Parent == nil {
		from, usual = filepath.Clean(named), false
	}
	if d.Variable == "" && b.Method != sandbox.Bubblewrap {
		b.note("its program cannot write to %s, because %s shows it no copy", d.Path, b.Method)
		return nil
	}
	if real, err := b.place(from); err != nil {
		return err
	} else if why := b.tooMuch(real); why != "" {
		return fmt.Errorf("that is %s, %s: name another directory", real, why)
	}
	sum := sha256.Sum256([]byte(from))
	to := filepath.Join(b.Dirs.Private(b.Workspace), copiesDirectory, fmt.Sprintf("%s-%x", strings.TrimLeft(filepath.Base(from), "."), sum[:4]))
	if err := private.MakeDir(to); err != nil {
		return err
	}
	if err := private.Replace(to+originSuffix, []byte(from), private.ThisBoot); err != nil {
		return err
	}
	to, err := filepath.EvalSymlinks(to)
	if err != nil {
		return err
	}
	left, err := refresh(from, to)
	if err != nil {
		return err
	}
	if left > 0 {
		b.note("%d files of %s are not in its copy: links, large files, and those beyond %d files or %d MiB", left, d.Path, maxFiles, maxCopied>>20)
	}
	b.logins = append(b.logins, b.consented(d, from, to)...)
	b.copied = append(b.copied, d.Path)
	b.policy.Writable = append(b.policy.Writable, to)
	if d.Variable != "" {
		b.env.Set(environ.Own, d.Variable+"="+to)
		if usual { // what the program keeps beside the directory as long as the variable is not set
			return refreshFile(filepath.Dir(from), filepath.Base(from)+".json", to)
		}
		return nil
	}
	if from, err = b.mountPoint(from); err == nil {
		b.policy.Binds = append(b.policy.Binds, sandbox.Bind{From: to, To: from, Write: true})
	}
	return err
}

// mountPoint returns dir without links, and makes it, empty, if it is not there: a copy
// can only be shown at a place that exists.
func (b *builder) mountPoint(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// refresh copies the plain files below from that are newer than those in to. It follows
// no links. left counts the files that it left out. A directory that is not there has
// no files.
func refresh(from, to string) (left int, err error) {
	source, err := os.OpenRoot(from)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer source.Close()
	target, err := os.OpenRoot(to)
	if err != nil {
		return 0, err
	}
	defer target.Close()
	var bytes int64
	files, seen := 0, 0
	for dirs := []string{"."}; len(dirs) > 0; dirs = dirs[1:] { // the nearest files first
		entries, err := fs.ReadDir(source.FS(), dirs[0])
		if err != nil {
			left++
			continue
		}
		for _, entry := range entries {
			if seen++; seen > maxEntries {
				return left + 1, nil
			}
			name := filepath.Join(dirs[0], entry.Name())
			info, err := entry.Info()
			switch {
			case err != nil:
				left++
			case info.IsDir():
				dirs = append(dirs, name)
			case !info.Mode().IsRegular() || info.Size() > maxFile || files == maxFiles || bytes+info.Size() > maxCopied:
				left++
			default:
				files, bytes = files+1, bytes+info.Size()
				if err := copyFile(source, target, name, name, info.ModTime()); err != nil {
					return left, err
				}
			}
		}
	}
	return left, nil
}

// refreshFile copies one plain file of a directory, if there is one, into to.
func refreshFile(dir, name, to string) error {
	source, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil
	}
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer target.Close()
	return copyFile(source, target, name, name, info.ModTime())
}

// copyFile copies a file unless the target has one that is as new. The target's
// directory belongs to programs in the sandbox: what they put in its way is left.
func copyFile(source, target *os.Root, from, to string, changed time.Time) error {
	if there, err := target.Lstat(to); err == nil && (!there.Mode().IsRegular() || !changed.After(there.ModTime())) {
		return nil
	}
	in, _, err := plainfile.Open(source, from)
	if err != nil {
		return nil // it was removed or replaced meanwhile
	}
	defer in.Close()
	if err := target.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return nil
	}
	temp := filepath.Join(filepath.Dir(to), tempPattern+fmt.Sprint(time.Now().UnixNano()))
	out, err := target.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, copiedMode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxFile))
	err = errors.Join(err, out.Close())
	if err == nil {
		err = target.Chtimes(temp, changed, changed)
	}
	if err == nil {
		err = target.Rename(temp, to)
	}
	if err != nil {
		return errors.Join(err, target.Remove(temp))
	}
	return nil
}
