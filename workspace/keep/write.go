package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/workspace/model"
)

// maxScanned is the size limit in bytes of git's files in which we search
// hashes.
const maxScanned = 64 << 20

// snapshotWriter makes one snapshot.
type snapshotWriter struct {
	w       model.Workspace
	repo    git.Dirs
	entry   string // git's directory for the worktree, or ""
	dir     string // the directory's current path, or ""
	chosen  choice
	blind   bool // the inspection failed, and the user agreed to lose anything
	tell    func(string)
	staged  *git.Staging // takes new objects until all is there
	snap    snapshot
	objects map[string]string // objects that the snapshot must make reachable, with their kinds
}

func newSnapshotWriter(w model.Workspace, entry, dir string, chosen choice) *snapshotWriter {
	k := &snapshotWriter{w: w, repo: git.Whole(w.GitDir), entry: entry, dir: dir, chosen: chosen, objects: map[string]string{}}
	k.snap = snapshot{Version: snapshotVersion, ID: w.ID, Name: w.Name, Root: w.Root, Made: time.Now().UTC(), Unkept: chosen.unkept}
	if entry != "" {
		k.snap.Entry = filepath.Base(entry)
	}
	return k
}

func (k *snapshotWriter) run(ctx context.Context) (err error) {
	if err := k.prepare(ctx); err != nil {
		return err
	}
	if k.staged, err = k.repo.Stage(k.w.ID); err != nil {
		return err
	}
	defer k.staged.Close() // of what it could not remove the next delete removes the rest
	hashes, err := k.keepBranches(ctx)
	if err != nil {
		return err
	}
	if k.entry != "" {
		if err := k.storeAll(ctx, k.entry, k.snap.State); err != nil {
			return err
		}
		more, err := k.namedByState()
		if err != nil {
			return err
		}
		hashes = append(hashes, more...)
		// An index that git cannot read is kept as a file. What only it named
		// cannot be found, and Unkept says so.
		if err := k.keepIndexed(ctx); err != nil && k.blind && git.ExitCode(err) >= 0 {
			k.snap.Unkept = append(k.snap.Unkept, "contents that only the index named (git cannot read them)")
		} else if err != nil {
			return err
		}
	}
	if err := k.storeAll(ctx, k.dir, k.snap.Files); err != nil {
		return err
	}
	slices.Sort(hashes)
	err = k.repo.Kinds(ctx, slices.Compact(hashes), func(object, kind string) { k.objects[object] = kind })
	if err != nil {
		return err
	}
	return storeSnapshot(ctx, k.staged, k.snap, k.objects)
}

// keepBranches records the workspace's branch and the one that HEAD names. It
// returns the hashes that must stay reachable, including stashes. No delete removes
// a branch whose name CheckBranch refuses, and no restore makes it.
func (k *snapshotWriter) keepBranches(ctx context.Context) (hashes []string, err error) {
	note := func(name string) (branch, error) {
		b, err := k.keepBranch(ctx, name)
		hashes = append(hashes, b.Commit)
		if model.CheckBranch(name) != nil {
			b = branch{}
		}
		return b, err
	}
	if k.snap.Branch, err = note(k.w.Branch); err != nil {
		return nil, err
	}
	if k.entry != "" {
		at := git.Dirs{GitDir: k.entry, CommonDir: k.w.GitDir}
		ref, err := at.Look("symbolic-ref", "--quiet", "HEAD").Line(ctx)
		if err != nil && git.ExitCode(err) != 1 { // status 1: HEAD is detached
			return nil, err
		}
		if name, is := strings.CutPrefix(ref, "refs/heads/"); is {
			if k.snap.Head, err = note(name); err != nil {
				return nil, err
			}
		}
	}
	top, err := k.repo.Ref(ctx, "refs/stash")
	if err != nil || top == "" {
		return slices.DeleteFunc(hashes, func(s string) bool { return s == "" }), err
	}
	c := k.repo.Look("rev-list", "--walk-reflogs", "--no-commit-header", "--format=%H %s", "refs/stash", "--")
	c.Lines = true
	c.Each = func(line string) {
		hash, message, _ := strings.Cut(line, " ")
		if strings.HasPrefix(message, "WIP on "+k.w.Branch+": ") || strings.HasPrefix(message, "On "+k.w.Branch+": ") {
			hashes = append(hashes, hash)
		}
	}
	_, err = c.Run(ctx)
	return slices.DeleteFunc(hashes, func(s string) bool { return s == "" }), err
}

// keepBranch records a branch's commit, configuration and reflog.
func (k *snapshotWriter) keepBranch(ctx context.Context, name string) (branch, error) {
	b := branch{Name: name}
	if name == "" {
		return b, nil
	}
	var err error
	if b.Commit, err = k.repo.Ref(ctx, "refs/heads/"+name); err != nil {
		return b, err
	}
	if b.Config, err = branchConfig(ctx, k.repo, name); err != nil {
		return b, err
	}
	log, err := plainfile.ReadFollowed(reflogOf(k.repo, name), maxScanned)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	if b.Reflog, err = k.staged.Store(ctx, "blob", strings.NewReader(string(log))); err != nil {
		return b, err
	}
	k.objects[b.Reflog] = "blob"
	return b, k.repo.Kinds(ctx, hashesIn(string(log)), func(object, kind string) { k.objects[object] = kind })
}

// reflogOf is the file of a branch's reflog, if git stores refs in files.
func reflogOf(repo git.Dirs, name string) string {
	return filepath.Join(repo.CommonDir, "logs", "refs", "heads", filepath.FromSlash(name))
}

// storeAll stores the regular files among files, which lie in dir.
func (k *snapshotWriter) storeAll(ctx context.Context, dir string, files []file) error {
	regular, paths := regularFiles(files)
	one := countFiles(k.tell, len(regular))
	return k.staged.StoreFiles(ctx, dir, paths, func(at int, object string) {
		regular[at].Blob = object
		k.objects[object] = "blob"
		one()
	})
}

// regularFiles returns the regular files among files, and their paths.
func regularFiles(files []file) (regular []*file, paths []string) {
	for i := range files {
		if files[i].Mode.IsRegular() {
			regular = append(regular, &files[i])
			paths = append(paths, string(files[i].Path))
		}
	}
	return regular, paths
}

// keepIndexed keeps the objects that the index names. Objects that were missing
// before stay missing. A submodule's commit is in the submodule's repository.
func (k *snapshotWriter) keepIndexed(ctx context.Context) error {
	at := git.Dirs{GitDir: k.entry, CommonDir: k.w.GitDir, WorkTree: k.dir}
	var hashes []string
	for _, what := range []string{"--stage", "--resolve-undo"} {
		c := at.Look("ls-files", "-z", what)
		c.Each = func(record string) { // "100644 <object> 0\t<path>"
			head, _, _ := strings.Cut(record, "\t")
			if fields := strings.Fields(head); len(fields) == 3 && fields[0] != "160000" {
				hashes = append(hashes, fields[1])
			}
		}
		if _, err := c.Run(ctx); err != nil {
			return err
		}
	}
	slices.Sort(hashes)
	return k.repo.Kinds(ctx, slices.Compact(hashes), func(object, kind string) { k.objects[object] = kind })
}

var hashPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b[0-9a-f]{7,64}\b`)
})

// hashesIn returns the words of text that may be hashes, whole or abbreviated.
func hashesIn(text string) []string {
	found := hashPattern().FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// namedByState returns the words that may be hashes in git's files for the
// worktree: reflogs, refs of the worktree, commits still to be picked, the
// other side of a merge.
func (k *snapshotWriter) namedByState() ([]string, error) {
	var hashes []string
	for _, f := range k.snap.State {
		name := string(f.Path)
		if !f.Mode.IsRegular() || strings.HasPrefix(name, "modules/") || name == "index" || strings.HasPrefix(name, "sharedindex.") {
			continue
		}
		path := filepath.Join(k.entry, filepath.FromSlash(name))
		info, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		if info.Size() > maxScanned {
			return nil, fmt.Errorf("%s is larger than %d bytes", path, maxScanned)
		}
		content, err := plainfile.ReadFollowed(path, maxScanned)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, hashesIn(string(content))...)
	}
	return hashes, nil
}
