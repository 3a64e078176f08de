package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// snapshotVersion is that of the manifest's form.
const snapshotVersion = 1

// In the tree of a snapshot's commit. Its parents are the commits that git's
// own files for the worktree name, so that none is lost to a collection.
const (
	manifestName = "manifest.json"
	objectsName  = "objects" // every blob and tree that is needed, by its hash
)

// trashRef holds the snapshot of a deleted workspace.
func trashRef(id string) string { return "refs/middleman/trash/" + id }

// snapshot is the manifest: all that is needed beside the objects.
type snapshot struct {
	Version int       `json:"version"`
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Root    string    `json:"root,omitempty"` // the workspace's directory
	Made    time.Time `json:"made"`
	Entry   string    `json:"entry"`  // the name of git's directory for the worktree, "" where it had none
	Branch  branch    `json:"branch"` // of the workspace
	Head    branch    `json:"head"`   // what HEAD leads to; no name where it is detached
	Files   []file    `json:"files"`  // of the directory, each after the one it is in
	State   []file    `json:"state"`  // of git's directory
	Unkept  []string  `json:"unkept"` // see Loss
}

// branch is one as it was.
type branch struct {
	Name   string    `json:"name"`
	Commit string    `json:"commit"` // "" where it has none
	Config []setting `json:"config"`
	Reflog string    `json:"reflog"` // a blob
}

type setting struct{ Key, Value []byte }

// file is a file, a link or a directory. Names and targets are any bytes.
type file struct {
	Path   []byte      `json:"path"`
	Mode   fs.FileMode `json:"mode"`
	Bits   fs.FileMode `json:"bits,omitempty"` // setuid, setgid and sticky, where they are to come back
	Time   time.Time   `json:"time"`
	Blob   string      `json:"blob,omitempty"`
	Target []byte      `json:"target,omitempty"`
}

// durable has git write to the disk what it says it wrote.
var durable = map[string]string{"core.fsync": "committed,loose-object,reference"}

// store makes an object of content and returns its name.
func (p gitDirs) store(ctx context.Context, kind string, content io.Reader) (string, error) {
	c := p.alter("hash-object", "-t", kind, "-w", "--no-filters", "--stdin")
	c.stdin, c.config = content, durable
	return c.line(ctx)
}

// storeFiles makes blobs of the regular files among files, which lie in dir,
// byte for byte, and tells how many are done.
func (p gitDirs) storeFiles(ctx context.Context, dir string, files []file, tell func(string)) error {
	var names strings.Builder
	var regular []*file
	for i := range files {
		if files[i].Mode.IsRegular() {
			regular = append(regular, &files[i])
			names.WriteString(gitQuoted(string(files[i].Path)) + "\n")
		}
	}
	if len(regular) == 0 {
		return nil
	}
	c := p.alter("hash-object", "-w", "--no-filters", "--stdin-paths")
	c.dir, c.stdin, c.config, c.lines = dir, strings.NewReader(names.String()), durable, true
	n, one := 0, countFiles(tell, len(regular))
	c.each = func(object string) {
		one()
		if n < len(regular) {
			regular[n].Blob = object
		}
		n++
	}
	if _, err := c.run(ctx); err != nil {
		return err
	}
	if n != len(regular) {
		return fmt.Errorf("git stored %d of %d files of %s", n, len(regular), dir)
	}
	return nil
}

// gitQuoted is a name as git reads it from a list of lines.
func gitQuoted(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// kinds finds out which of names, whole or abbreviated, are objects, and calls
// each with their whole names and kinds. A tag stands for what it leads to.
func (p gitDirs) kinds(ctx context.Context, names []string, each func(object, kind string)) error {
	if len(names) == 0 {
		return nil
	}
	var tags []string
	c := p.look("cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer")
	c.stdin, c.lines, c.change = strings.NewReader(strings.Join(names, "\n")+"\n"), true, true
	c.each = func(line string) {
		switch object, kind, _ := strings.Cut(line, " "); kind {
		case "commit", "tree", "blob":
			each(object, kind)
		case "tag":
			tags = append(tags, object+"^{}")
		}
	}
	if _, err := c.run(ctx); err != nil {
		return err
	}
	return p.kinds(ctx, tags, each)
}

// storeSnapshot makes the commit of s and has the ref lead to it. objects are
// to be found through it, by their kinds. A snapshot that is there already, of
// a delete that was cut short, stays reachable through the new one.
func (p gitDirs) storeSnapshot(ctx context.Context, s snapshot, objects map[string]string) error {
	manifest, err := json.Marshal(s)
	if err != nil {
		return err
	}
	blob, err := p.store(ctx, "blob", bytes.NewReader(manifest))
	if err != nil {
		return err
	}
	var parents []string
	var list strings.Builder
	for object, kind := range objects {
		switch kind {
		case "commit":
			parents = append(parents, object)
		case "tree":
			fmt.Fprintf(&list, "040000 tree %s\t%s\n", object, object)
		default:
			fmt.Fprintf(&list, "100644 blob %s\t%s\n", object, object)
		}
	}
	held, err := p.makeTree(ctx, list.String())
	if err != nil {
		return err
	}
	tree, err := p.makeTree(ctx, fmt.Sprintf("100644 blob %s\t%s\n040000 tree %s\t%s\n", blob, manifestName, held, objectsName))
	if err != nil {
		return err
	}
	before, err := readRef(ctx, p, trashRef(s.ID))
	if err != nil {
		return err
	}
	if before != "" {
		parents = append(parents, before)
	}
	commit, err := p.store(ctx, "commit", strings.NewReader(snapshotCommit(s, tree, parents)))
	if err != nil {
		return err
	}
	return p.pointTrash(ctx, s.ID, commit, before)
}

// pointTrash moves the ref of a snapshot, and makes sure that all that can be
// reached through it, and through no other ref, is there.
func (p gitDirs) pointTrash(ctx context.Context, id, commit, before string) error {
	ref := trashRef(id)
	c := p.alter("update-ref", "--no-deref", ref, commit, before)
	c.config = durable
	if _, err := c.run(ctx); err != nil {
		return err
	}
	// No HEADs: some may just be made.
	c = p.look("rev-list", "--objects", "--quiet", commit, "--not", "--exclude="+ref, "--glob=refs/*")
	c.change = true // it may take long
	_, err := c.run(ctx)
	if err == nil {
		return nil
	}
	args := []string{"update-ref", "--no-deref", ref, before, commit}
	if before == "" {
		args = []string{"update-ref", "--no-deref", "-d", ref, commit}
	}
	if _, back := p.alter(args...).run(context.WithoutCancel(ctx)); back != nil {
		return fmt.Errorf("%w (and to undo it: %w)", err, back)
	}
	return err
}

func (p gitDirs) makeTree(ctx context.Context, list string) (string, error) {
	c := p.alter("mktree")
	c.stdin, c.config = strings.NewReader(list), durable
	return c.line(ctx)
}

// snapshotCommit is a commit as git stores it. It has no user's name, so that
// none has to be configured, and any number of parents.
func snapshotCommit(s snapshot, tree string, parents []string) string {
	slices.Sort(parents)
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, parent := range slices.Compact(parents) {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	by := "middleman <middleman@localhost> " + strconv.FormatInt(s.Made.Unix(), 10) + " +0000"
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\nWorkspace %s, as it was when it was deleted\n", by, by, s.Name)
	return b.String()
}

// dropTrash lets go of a snapshot.
func dropTrash(ctx context.Context, p gitDirs, id, commit string) error {
	if err := unlockNested(p.commonDir, id); err != nil {
		return err
	}
	_, err := p.alter("update-ref", "--no-deref", "-d", trashRef(id), commit).run(ctx)
	if err != nil {
		return fmt.Errorf("let go of the snapshot: %w", err)
	}
	return nil
}
