package leftover

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"middleman/internal/git"
	"middleman/workspace/basedir"
	"middleman/workspace/keep"
	"middleman/workspace/model"
)

// Kind is what a leftover is.
type Kind string

// The kinds of leftovers. Package workspace finds those that no record owns;
// the first ones and sessions are for whoever has the records to find.
const (
	KindMissing   Kind = "missing"   // a workspace whose directory is gone
	KindFailed    Kind = "failed"    // a workspace that could not be made or deleted
	KindMoved     Kind = "moved"     // a workspace whose repository or directory is not where it was
	KindWorker    Kind = "worker"    // the workspace of a worker that has ended
	KindDeleted   Kind = "deleted"   // a deleted workspace that is old, or of which nothing is kept
	KindEphemeral Kind = "ephemeral" // an ephemeral workspace whose command has ended
	KindSession   Kind = "session"   // state of an ended session whose workspace is gone
	KindDirectory Kind = "directory" // in the base, of no workspace
	KindTrash     Kind = "trash"     // what a delete was removing
	KindDeleting  Kind = "deleting"  // what a delete took out of reach and has not looked at twice
	KindRestoring Kind = "restoring" // what a restore was putting together
	KindKept      Kind = "kept"      // what a delete kept because no repository can hold it
	KindEntry     Kind = "entry"     // git's entry for a worktree that is gone
	KindBranch    Kind = "branch"    // made for a workspace that is gone
	KindSnapshot  Kind = "snapshot"  // of a deleted workspace that nobody knows
	KindUnknown   Kind = "unknown"   // what could not be looked at
)

// Leftover is something that is there though no workspace has it, or the other
// way round.
type Leftover struct {
	Kind Kind `json:"kind"`
	// What is a directory, a ref, or the name of a workspace or session.
	What       string `json:"what" doc:"A directory, a ref, or the name of a workspace or session"`
	ID         string `json:"workspace_id,omitempty" doc:"Of the workspace that it belongs or belonged to"`
	Repository string `json:"repository,omitempty"`
	// Prunable is true on proof alone; Why is that proof, or what is missing
	// for it. Lost is what would be lost, or keeps it from being pruned.
	Prunable bool       `json:"prunable" doc:"It may go, on proof alone"`
	Why      string     `json:"why" doc:"Why it may go, or why it stays"`
	Lost     model.Loss `json:"lost,omitzero"`
	Final    string     `json:"final,omitempty" doc:"What is gone for good with it"`
	Hint     string     `json:"hint,omitempty" doc:"What helps where it stays"`
	Pruned   bool       `json:"pruned"`
	Error    string     `json:"error,omitempty" doc:"Why it was not pruned though it might go"`

	// object is where a ref was seen, gitDir is the repository's, and root the
	// workspace's directory.
	object, gitDir, root string
}

// Records are what the caller has stored: what they do not own is left over.
type Records struct {
	Workspaces, Deleted []model.Workspace
	// Busy are the workspaces, by their ids, that may have running sessions,
	// each with what to say of that. Unsure, where not nil, is why that is not
	// known: then no directory may go.
	Busy   map[string]string
	Unsure error
}

// Recorded reads the records as they are now. A workspace must be recorded
// before anything of it is made, and until the last of it is gone.
type Recorded func(context.Context) (Records, error)

// settled is how long a branch must have been where it is before it counts as
// left over: another program may just be making a workspace of it.
const settled = 10 * time.Minute

// Leftovers finds what no record owns: in the base directory, and in the
// repositories that the records and the base lead to. It changes nothing. What
// it cannot look at is not prunable, and says why.
func (f Finder) Leftovers(ctx context.Context, recorded Recorded) ([]Leftover, error) {
	return f.survey(ctx, recorded, nil)
}

// survey is Leftovers; only, unless it is nil, says which to judge.
func (f Finder) survey(ctx context.Context, recorded Recorded, only func(Leftover) bool) (found []Leftover, err error) {
	s := &survey{f: f, only: only, repositories: map[string]string{}}
	defer func() {
		for _, b := range s.bases {
			_ = b.root.Close()
		}
	}()
	// Before the records: what is there now and has none then is nobody's.
	own, err := basedir.Open(f.Base)
	s.list(own, f.Base, err)
	if s.Records, err = recorded(ctx); err != nil {
		return nil, err
	}
	s.findScopes()
	s.findRepositories()
	refs := s.listRepositories(ctx)
	if s.Records, err = recorded(ctx); err != nil {
		return nil, err
	}
	for _, b := range s.bases {
		for _, name := range b.names {
			s.directory(ctx, b, name)
		}
	}
	for _, found := range refs {
		s.inRepository(ctx, found)
	}
	return s.found, ctx.Err()
}

// survey is one look for leftovers.
type survey struct {
	Records
	f     Finder
	only  func(Leftover) bool
	bases []*listed
	// repositories are those to look into, by their git directories, with
	// their tops where these are known.
	repositories map[string]string
	found        []Leftover
}

// listed is a directory that workspaces are made in, with what is in it.
type listed struct {
	root  *os.Root
	names []string
}

// own reports whether b is the manager's own base. One in a scope may be
// that of other managers too: what has no record there is not proved ours.
func (b *listed) own() bool {
	_, scoped := basedir.ScopeOf(filepath.Join(b.root.Name(), "x"))
	return !scoped
}

// list adds what was opened, or could not be, as err says. What does not exist
// holds nothing that is known to be there.
func (s *survey) list(root *os.Root, path string, err error) {
	if err == nil {
		var names []string
		if names, err = namesIn(root); err == nil {
			s.bases = append(s.bases, &listed{root, names})
			return
		}
		_ = root.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.unknown(path, err)
	}
}

// findScopes lists the directories for workspaces in scopes that the records lead to.
func (s *survey) findScopes() {
	seen := map[string]bool{}
	for _, w := range slices.Concat(s.Workspaces, s.Deleted) {
		if scope, is := basedir.ScopeOf(w.Root); is && !seen[scope] {
			seen[scope] = true
			root, err := basedir.OpenIn(scope, false)
			s.list(root, filepath.Dir(w.Root), err)
		}
	}
}

// base is the listed directory of that path, or nil.
func (s *survey) base(path string) *listed {
	i := slices.IndexFunc(s.bases, func(b *listed) bool { return b.root.Name() == path })
	if i < 0 {
		return nil
	}
	return s.bases[i]
}

func namesIn(base *os.Root) ([]string, error) {
	dir, err := base.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func (s *survey) add(l Leftover) { s.found = append(s.found, l) }

func (s *survey) unknown(what string, err error) {
	if s.only == nil {
		s.add(Leftover{Kind: KindUnknown, What: what, Why: err.Error()})
	}
}

// wanted reports whether l is to be judged.
func (s *survey) wanted(l Leftover) bool { return s.only == nil || s.only(l) }

// owner is the record that has that id.
func owner(list []model.Workspace, id string) (model.Workspace, bool) {
	i := slices.IndexFunc(list, func(w model.Workspace) bool { return w.ID == id })
	if i < 0 {
		return model.Workspace{}, false
	}
	return list[i], true
}

// findRepositories gathers what the records and the base lead to.
func (s *survey) findRepositories() {
	for _, w := range slices.Concat(s.Workspaces, s.Deleted) {
		if w.GitDir != "" {
			s.repositories[w.GitDir] = w.Repository
		}
	}
	for _, b := range s.bases {
		for _, name := range b.names {
			dir := filepath.Join(b.root.Name(), name)
			entry, err := git.ReadPath(filepath.Join(dir, ".git"), dir)
			gitDir := filepath.Dir(filepath.Dir(entry))
			if err == nil && filepath.Base(filepath.Dir(entry)) == "worktrees" && s.repositories[gitDir] == "" {
				s.repositories[gitDir] = ""
			}
		}
	}
}

// listRepositories notes what there is in the repositories that could be left
// over, before the records are read once more.
func (s *survey) listRepositories(ctx context.Context) []Leftover {
	var list []Leftover
	for _, gitDir := range slices.Sorted(maps.Keys(s.repositories)) {
		if _, err := os.Stat(gitDir); errors.Is(err, fs.ErrNotExist) {
			continue // each workspace of it says so
		}
		found, err := s.listRepository(ctx, gitDir)
		if err != nil {
			s.unknown(gitDir, err)
			continue
		}
		list = append(list, found...)
	}
	return list
}

func (s *survey) listRepository(ctx context.Context, gitDir string) ([]Leftover, error) {
	repo := git.Whole(gitDir)
	top := s.repositories[gitDir]
	if top == "" {
		trees, err := repo.Worktrees(ctx)
		if err != nil {
			return nil, err
		}
		top = trees[0].Path
	}
	list := s.listEntries(gitDir, top)
	gathered, err := filepath.Glob(filepath.Join(gitDir, "middleman-restoring-*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range gathered {
		id := strings.TrimPrefix(filepath.Base(dir), "middleman-restoring-")
		list = append(list, Leftover{Kind: KindRestoring, What: dir, ID: id, Repository: top, gitDir: gitDir})
	}
	out, err := repo.Look("for-each-ref", "--format=%(objectname) %(refname)", keep.Ref(""), "refs/heads/"+s.f.Prefix+"/").Line(ctx)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		object, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		l := Leftover{Kind: KindBranch, What: strings.TrimPrefix(ref, "refs/heads/"), Repository: top, gitDir: gitDir, object: object}
		if id, is := strings.CutPrefix(ref, keep.Ref("")); is {
			l.Kind, l.What, l.ID = KindSnapshot, ref, id
		}
		list = append(list, l)
	}
	return list, nil
}

// listEntries are git's entries for worktrees that were in our base and are
// locked as ours, or were being made.
func (s *survey) listEntries(gitDir, top string) []Leftover {
	entries, err := os.ReadDir(filepath.Join(gitDir, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.unknown(gitDir, err)
	}
	var list []Leftover
	for _, e := range entries {
		entry := filepath.Join(gitDir, "worktrees", e.Name())
		target, err := git.ReadPath(filepath.Join(entry, "gitdir"), entry)
		root := filepath.Dir(target)
		id := filepath.Base(root)
		if err != nil || s.base(filepath.Dir(root)) == nil || model.CheckID(id) != nil {
			continue // somebody else's, or it is not known what is there
		}
		if reason, err := git.LockReason(filepath.Join(entry, "locked")); err != nil || reason != model.LockReason(id) && reason != "initializing" {
			continue
		}
		list = append(list, Leftover{Kind: KindEntry, What: entry, ID: id, Repository: top, gitDir: gitDir, root: root})
	}
	return list
}
