package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"middleman/internal/plainfile"
)

const (
	// maxEntries limits how many directory entries of one tree are read.
	maxEntries = 1 << 20
	// entriesAtOnce is how many are read at a time.
	entriesAtOnce = 1024
)

// blind are the file systems on which others may change files without an event
// here, by their magic numbers: those of a network or of another process.
var blind = map[uint32]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB",
	unix.FUSE_SUPER_MAGIC: "FUSE", unix.V9FS_MAGIC: "9P", unix.AFS_SUPER_MAGIC: "AFS", unix.CODA_SUPER_MAGIC: "Coda",
	unix.CEPH_SUPER_MAGIC: "Ceph", unix.OCFS2_SUPER_MAGIC: "OCFS2",
}

// walker adds the watches of one tree.
type walker struct {
	*Watcher
	Tree
	t       *tree
	root    *os.Root
	seen    map[int32]bool
	entries int
}

// walk watches all of what, and no longer what of t is not in it. A directory is
// watched before its entries are read, so one that appears meanwhile makes an
// event.
func (w *Watcher) walk(ctx context.Context, t *tree, what Tree) error {
	root, err := os.OpenRoot(what.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	w.mu.Lock()
	t.root, t.path = info, what.Root
	w.mu.Unlock()
	k := walker{Watcher: w, Tree: what, t: t, root: root, seen: map[int32]bool{}}
	queue := []string{"."}
	for len(queue) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		below, err := k.directory(queue[0])
		if err != nil {
			return fmt.Errorf("watch %s: %w", filepath.Join(what.Root, queue[0]), err)
		}
		queue = append(queue[1:], below...)
	}
	for _, dir := range what.Also {
		if err := k.alone(dir); err != nil {
			return fmt.Errorf("watch %s: %w", dir, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.release(t, k.seen)
	return nil
}

// directory watches one directory of the tree and returns those in it. One that
// is no directory any more is left out: that made an event in the one above it.
func (k *walker) directory(rel string) (below []string, err error) {
	dir, err := k.root.OpenFile(rel, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if rel != "." && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if rel == "." {
		if err := sees(dir); err != nil {
			return nil, err
		}
	}
	if err := k.add(dir); err != nil {
		return nil, err
	}
	for {
		entries, err := dir.ReadDir(entriesAtOnce)
		for _, entry := range entries {
			name := path.Join(rel, entry.Name())
			switch {
			case entry.Name() == ".git":
				if err := k.nested(rel, entry); err != nil {
					return nil, err
				}
			case entry.IsDir() && !k.Skip[name]:
				below = append(below, name)
			}
		}
		k.entries += len(entries)
		switch {
		case err == io.EOF || errors.Is(err, fs.ErrNotExist): // the directory is deleted
			return below, nil
		case err != nil:
			return nil, err
		case k.entries > maxEntries:
			return nil, fmt.Errorf("more than %d files: %w", maxEntries, ErrTooLarge)
		}
	}
}

// nested watches the git directory of a repository below the root, where a
// commit shows. A .git file can name any directory, so only one in the tree or
// below one of Also counts.
func (k *walker) nested(rel string, entry fs.DirEntry) error {
	if rel == "." {
		return nil
	}
	name := path.Join(rel, ".git")
	if entry.IsDir() {
		return k.alone(filepath.Join(k.Root, filepath.FromSlash(name)))
	}
	content, err := plainfile.Read(k.root, name, 64<<10)
	target, ok := bytes.CutPrefix(bytes.TrimRight(content, "\n"), []byte("gitdir: "))
	if err != nil || !ok {
		return nil // git does not take it for a repository either
	}
	dir := string(target)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(k.Root, filepath.FromSlash(rel), dir)
	}
	for _, known := range append([]string{k.Root}, k.Also...) {
		if below, err := filepath.Rel(known, dir); err == nil && filepath.IsLocal(below) {
			return k.alone(dir)
		}
	}
	return nil
}

// alone watches a directory without those below it, if there is one.
func (k *walker) alone(name string) error {
	dir, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer dir.Close()
	return k.add(dir)
}

// add watches an open directory, whatever its name leads to by now.
func (k *walker) add(dir *os.File) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil || k.t.dropped {
		return os.ErrClosed
	}
	watch, err := unix.InotifyAddWatch(k.fd, fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), tells)
	if errors.Is(err, unix.ENOSPC) {
		return errors.New("the user has no watches left (fs.inotify.max_user_watches)")
	}
	if err != nil {
		return err
	}
	number := int32(watch)
	k.seen[number] = true
	if !k.t.watched[number] {
		k.t.watched[number] = true
		k.watchers[number] = append(slices.Clip(k.watchers[number]), k.t)
	}
	switch {
	case len(k.seen) > k.limits.Tree:
		return tooLarge(k.limits.Tree, "for one workspace (setting watch.per_workspace)")
	case len(k.watchers) > k.limits.Total:
		return tooLarge(k.limits.Total, "for all workspaces (setting watch.directories)")
	}
	return nil
}

// sees returns an error if changes to the file system of dir may make no events.
func sees(dir *os.File) error {
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &system); err != nil {
		return err
	}
	if name := blind[uint32(system.Type)]; name != "" {
		return fmt.Errorf("changes on %s make no events: %w", name, errors.ErrUnsupported)
	}
	return nil
}
