package keep

import (
	"compress/flate"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/look"
)

// prepare lists what the snapshot keeps. It writes nothing, and returns an error if the
// snapshot could not be complete, as far as that can be known.
func (k *snapshotWriter) prepare(ctx context.Context) error {
	if err := k.list(); err != nil {
		return err
	}
	return k.checkRoom(ctx)
}

// list lists git's directory for the worktree and the workspace's directory.
func (k *snapshotWriter) list() error {
	var closed []string
	if k.entry != "" {
		l, err := k.listState()
		if err != nil {
			return err
		}
		k.snap.State = l.files
		for _, name := range l.closed {
			closed = append(closed, filepath.ToSlash(k.entry)+"/"+name)
		}
	}
	if k.dir != "" {
		l, err := k.listDir()
		if err != nil {
			return err
		}
		k.snap.Files = l.files
		k.snap.Unkept = append(k.snap.Unkept, l.odd...)
		closed = append(closed, l.closed...)
	}
	if len(closed) > 0 {
		return unreadable(closed)
	}
	return nil
}

// listState lists git's directory for the worktree, which is kept byte for byte: the index,
// HEAD and its reflog, refs of the worktree, the state of an operation, and the
// repositories of submodules.
func (k *snapshotWriter) listState() (listing, error) {
	return listFiles(k.entry, func(name string, _ bool) verdict {
		if strings.HasSuffix(name, ".lock") && !strings.Contains(name, "/") || name == restoredMark {
			return verdict{} // a killed git or restore left it
		}
		return verdict{keep: true, descend: true}
	})
}

// listDir lists the workspace's directory except what was not chosen.
func (k *snapshotWriter) listDir() (listing, error) {
	own := look.CheckGitFile(k.dir, k.entry) == nil
	return listFiles(k.dir, func(name string, dir bool) verdict {
		if name == ".git" && !dir && own {
			return verdict{} // a restore writes it
		}
		return k.chosen.verdict(name)
	})
}

// checkRoom returns an error if the snapshot is clearly larger than what the disk of the
// repository has left. It reads files only if they would not fit as they are.
func (k *snapshotWriter) checkRoom(ctx context.Context) error {
	objects, err := os.Open(filepath.Join(k.repo.CommonDir, "objects"))
	if err != nil {
		return err
	}
	defer objects.Close()
	left, total := basedir.Room(objects), int64(0)
	for _, f := range k.snap.State {
		total += regularSize(f)
	}
	for _, f := range k.snap.Files {
		total += regularSize(f)
	}
	if total <= left {
		return nil
	}
	n := need{objects: map[string]newObject{}}
	if err := n.add(ctx, k, k.entry, k.snap.State); err != nil {
		return err
	}
	if err := n.add(ctx, k, k.dir, k.snap.Files); err != nil {
		return err
	}
	needs, largest := n.total()
	if needs-needs/5 <= left { // needs is an estimate
		return nil
	}
	return fmt.Errorf("its snapshot needs about %s, and the disk with %s has %s left: make room there, or move large files out of the workspace first (the largest is %s, %s)",
		plaintext.Bytes(needs), plaintext.Quoted(objects.Name()), plaintext.Bytes(left), plaintext.Quoted(largest.name), plaintext.Bytes(largest.size))
}

func regularSize(f file) int64 {
	if !f.Mode.IsRegular() {
		return 0
	}
	return f.size
}

// need is what a snapshot would add to the repository.
type need struct{ objects map[string]newObject }

// newObject is a file that the repository does not have yet. size is about what git's
// compression leaves of it.
type newObject struct {
	name string
	size int64
}

// add adds those of files in dir that the repository does not have.
func (n need) add(ctx context.Context, k *snapshotWriter, dir string, files []file) error {
	regular, paths := regularFiles(files)
	named := map[string]*file{}
	if err := k.repo.NameFiles(ctx, dir, paths, func(at int, object string) { named[object] = regular[at] }); err != nil {
		return err
	}
	var names []string
	for object := range named {
		names = append(names, object)
	}
	if err := k.repo.Kinds(ctx, names, func(object, _ string) { delete(named, object) }); err != nil {
		return err
	}
	for object, f := range named {
		name := string(f.Path)
		n.objects[object] = newObject{name, compressed(filepath.Join(dir, filepath.FromSlash(name)), f.size)}
	}
	return nil
}

// total returns the size of all, and the largest.
func (n need) total() (all int64, largest newObject) {
	for _, o := range n.objects {
		all += o.size
		if o.size > largest.size {
			largest = o
		}
	}
	return all, largest
}

// compressed estimates how many bytes compression leaves of a file, by samples of it.
func compressed(path string, size int64) int64 {
	const sample, samples = 64 << 10, 16
	f, err := plainfile.OpenFollowed(path)
	if err != nil || size == 0 {
		return size
	}
	defer f.Close()
	out := &counter{}
	w, err := flate.NewWriter(out, flate.BestSpeed)
	if err != nil {
		return size
	}
	var in int64
	for at := int64(0); at < size; at += max(size/samples, sample) {
		n, err := io.Copy(w, io.NewSectionReader(f, at, sample))
		if in += n; err != nil {
			return size
		}
	}
	if w.Close() != nil || in == 0 {
		return size
	}
	return int64(float64(size) * min(1, float64(out.n)/float64(in)))
}

// counter counts what is written to it.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
