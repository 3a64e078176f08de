package keep

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"middleman/internal/fault"
	"middleman/internal/git"
)

// snapshotVersion is the version of the manifest's format.
const snapshotVersion = 1

// Names in the tree of a snapshot's commit. The commit's parents are the
// commits that git's files for the worktree name, so that garbage collection
// keeps them.
const (
	manifestName = "manifest.json"
	objectsName  = "objects" // each needed blob and tree, named by its hash
)

// Ref returns the ref of the snapshot of a deleted workspace.
func Ref(id string) string { return "refs/middleman/trash/" + id }

// snapshot is the manifest: all that a restore needs besides the objects.
type snapshot struct {
	Version int       `json:"version"`
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Root    string    `json:"root,omitempty"` // the workspace's directory
	Made    time.Time `json:"made"`
	Entry   string    `json:"entry"`  // the name of git's directory for the worktree, or ""
	Branch  branch    `json:"branch"` // the workspace's branch
	Head    branch    `json:"head"`   // the branch that HEAD names; no Name if HEAD is detached
	Files   []file    `json:"files"`  // of the workspace's directory; a directory comes before its entries
	State   []file    `json:"state"`  // of git's directory for the worktree
	Unkept  []string  `json:"unkept"` // see model.Loss
}

// branch is a branch as it was.
type branch struct {
	Name   string    `json:"name"`
	Commit string    `json:"commit"` // "" if it has none
	Config []setting `json:"config"`
	Reflog string    `json:"reflog"` // a blob with the reflog file, or ""
}

type setting struct{ Key, Value []byte }

// file is a file, a link or a directory. Path and Target may be any bytes.
type file struct {
	Path   []byte      `json:"path"`
	Mode   fs.FileMode `json:"mode"`
	Bits   fs.FileMode `json:"bits,omitempty"` // the setuid, setgid and sticky bits to restore
	Time   time.Time   `json:"time"`
	Blob   string      `json:"blob,omitempty"`
	Target []byte      `json:"target,omitempty"`

	size int64 // when a delete listed it
}

// storeSnapshot makes the commit of s and points the ref at it. The commit
// makes objects, which maps names to kinds, reachable. If an interrupted delete
// left a snapshot, that stays reachable through the new one.
func storeSnapshot(ctx context.Context, p *git.Staging, s snapshot, objects map[string]string) error {
	manifest, err := json.Marshal(s)
	if err != nil {
		return err
	}
	blob, err := p.Store(ctx, "blob", bytes.NewReader(manifest))
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
	held, err := p.MakeTree(ctx, list.String())
	if err != nil {
		return err
	}
	tree, err := p.MakeTree(ctx, fmt.Sprintf("100644 blob %s\t%s\n040000 tree %s\t%s\n", blob, manifestName, held, objectsName))
	if err != nil {
		return err
	}
	before, err := p.Ref(ctx, Ref(s.ID))
	if err != nil {
		return err
	}
	if before != "" {
		parents = append(parents, before)
	}
	commit, err := p.Store(ctx, "commit", strings.NewReader(snapshotCommit(s, tree, parents)))
	if err != nil {
		return err
	}
	fault.Here("delete/staged")
	if err := p.Land(); err != nil {
		return err
	}
	fault.Here("delete/landed")
	return pointTrash(ctx, p.Repository, s.ID, commit, before)
}

// pointTrash moves the ref of a snapshot to commit, and checks that every
// object reachable only through it exists. If not, it moves the ref back.
func pointTrash(ctx context.Context, p git.Dirs, id, commit, before string) error {
	ref := Ref(id)
	c := p.Alter("update-ref", "--no-deref", ref, commit, before)
	c.Config = git.Durable
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	// Without the HEADs of worktrees: some may be in the making.
	c = p.Look("rev-list", "--objects", "--quiet", commit, "--not", "--exclude="+ref, "--glob=refs/*")
	c.Change = true // it may take minutes
	_, err := c.Run(ctx)
	if err == nil {
		return nil
	}
	args := []string{"update-ref", "--no-deref", ref, before, commit}
	if before == "" {
		args = []string{"update-ref", "--no-deref", "-d", ref, commit}
	}
	if _, back := p.Alter(args...).Run(context.WithoutCancel(ctx)); back != nil {
		return fmt.Errorf("%w (and to undo it: %w)", err, back)
	}
	return err
}

// snapshotCommit returns the text of a commit object. It has a fixed author, so
// that the user need not configure one, and any number of parents.
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

// dropTrash deletes the ref of a snapshot, and the locks that belong to it.
func dropTrash(ctx context.Context, p git.Dirs, id, commit string) error {
	if err := UnlockNested(p.CommonDir, id); err != nil {
		return err
	}
	_, err := p.Alter("update-ref", "--no-deref", "-d", Ref(id), commit).Run(ctx)
	if err != nil {
		return fmt.Errorf("let go of the snapshot: %w", err)
	}
	return nil
}
