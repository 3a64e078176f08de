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

// Kind is the kind of a leftover.
type Kind string

// The kinds of leftovers. This package finds those from KindDirectory on, which
// no record owns. The caller, which has the records, finds the others.
const (
	KindMissing   Kind = "missing"   // a workspace whose directory is gone
	KindFailed    Kind = "failed"    // a workspace that could not be made or deleted
	KindMoved     Kind = "moved"     // a workspace whose repository or directory is not where it was
	KindWorker    Kind = "worker"    // the workspace of a worker that has ended
	KindDeleted   Kind = "deleted"   // a deleted workspace that is old, or that cannot be restored
	KindEphemeral Kind = "ephemeral" // an ephemeral workspace whose command has ended
	KindRecord    Kind = "record"    // the record of a worker that has ended and whose parent is gone
	KindSession   Kind = "session"   // state of an ended session whose workspace is gone
	KindDirectory Kind = "directory" // a directory in the base that no workspace has
	KindTrash     Kind = "trash"     // a directory that a delete was removing, or in which it was making a snapshot
	KindDeleting  Kind = "deleting"  // a directory that a delete moved away and did not inspect twice
	KindRestoring Kind = "restoring" // a directory that a restore was filling
	KindKept      Kind = "kept"      // a directory that a delete kept because no repository can hold it
	KindEntry     Kind = "entry"     // git's entry for a worktree that is gone
	KindBranch    Kind = "branch"    // a branch made for a workspace that is gone
	KindSnapshot  Kind = "snapshot"  // the snapshot of a deleted workspace without a record
	KindUnknown   Kind = "unknown"   // could not be inspected
)

// Leftover is something that exists although no workspace has it, or something
// that a workspace should have and that is missing.
type Leftover struct {
	Kind Kind `json:"kind"`
	// What is a directory, a ref, or the name of a workspace or session.
	What       string `json:"what" doc:"A directory, a ref, or the name of a workspace or session"`
	ID         string `json:"workspace_id,omitempty" doc:"The id of the workspace that it belongs or belonged to"`
	Repository string `json:"repository,omitempty"`
	// Prunable is true only on proof. Why is the proof, or what is missing for
	// it. Lost is what would be lost with it, or the work that keeps it.
	Prunable bool       `json:"prunable" doc:"Whether it may be removed, which needs proof"`
	Why      string     `json:"why" doc:"Why it may be removed, or why it stays"`
	Lost     model.Loss `json:"lost,omitzero"`
	Final    string     `json:"final,omitempty" doc:"What is lost for good with it"`
	Hint     string     `json:"hint,omitempty" doc:"What to do if it stays"`
	Pruned   bool       `json:"pruned"`
	Error    string     `json:"error,omitempty" doc:"Why it was not removed although it may be"`

	// object is the commit at which a ref was seen, gitDir the repository's git
	// directory, root the workspace's directory, and given its base if the user
	// named that.
	object, gitDir, root, given string
}

// Records are what the caller has stored. What they do not own is left over.
type Records struct {
	Workspaces, Deleted []model.Workspace
	// Busy maps the ids of workspaces that may have running sessions to a
	// reason for the user. Unsure, if not nil, says why that is not known. Then
	// no directory may be removed.
	Busy   map[string]string
	Unsure error
	// Retired maps the ids of workspaces whose workers have ended to the git
	// directories of their repositories, "" where that is not known. Nobody is
	// making them any more.
	Retired map[string]string
}

// Recorded reads the current records. The caller must record a workspace before
// anything of it is made, and keep the record until all of it is gone.
type Recorded func(context.Context) (Records, error)

// settled is how long a branch must be unchanged before it counts as left over:
// another program may be making a workspace with it.
const settled = 10 * time.Minute

// Leftovers finds what no record owns: in the base directory, and in the
// repositories that the records and the base lead to. It changes nothing. What
// it cannot inspect is not prunable, and its Why says so.
func (f Finder) Leftovers(ctx context.Context, recorded Recorded) ([]Leftover, error) {
	return f.survey(ctx, recorded, nil)
}

// survey is Leftovers limited to what only selects; nil selects everything.
func (f Finder) survey(ctx context.Context, recorded Recorded, only func(Leftover) bool) (found []Leftover, err error) {
	s := &survey{f: f, only: only, repositories: map[string]string{}}
	defer func() { closeAll(s.bases) }()
	// List first, then read the records: a workspace is recorded before it is
	// made, so what is listed and not recorded belongs to none.
	own, err := basedir.Open(f.Base)
	s.list(own, f.Base, err)
	s.listGroups()
	if s.Records, err = recorded(ctx); err != nil {
		return nil, err
	}
	s.findScopes()
	s.findGiven()
	s.findRepositories()
	refs := s.listRepositories(ctx)
	if s.Records, err = recorded(ctx); err != nil {
		return nil, err
	}
	for _, b := range s.bases {
		for _, name := range b.names {
			s.directory(ctx, b, name)
		}
		s.emptyGroup(b)
	}
	for _, found := range refs {
		s.inRepository(ctx, found)
	}
	return s.found, ctx.Err()
}

// survey is one search for leftovers.
type survey struct {
	Records
	f     Finder
	only  func(Leftover) bool
	bases []*listed
	// repositories maps the git directories to search to the tops of their main
	// checkouts, or to "" if the top is not known.
	repositories map[string]string
	found        []Leftover
}

// findScopes lists the directories in scopes that the records lead to.
func (s *survey) findScopes() {
	seen := map[string]bool{}
	for _, w := range slices.Concat(s.Workspaces, s.Deleted) {
		if scope, is := basedir.ScopeOf(w.Root); is && w.BaseDir == "" && !seen[scope] {
			seen[scope] = true
			root, err := basedir.OpenIn(scope, false)
			s.list(root, filepath.Dir(w.Root), err)
		}
	}
}

func (s *survey) add(l Leftover) { s.found = append(s.found, l) }

func (s *survey) unknown(what string, err error) {
	if s.only == nil {
		s.add(Leftover{Kind: KindUnknown, What: what, Why: err.Error()})
	}
}

// wanted reports whether l is to be judged.
func (s *survey) wanted(l Leftover) bool { return s.only == nil || s.only(l) }

// owner returns the record with that id.
func owner(list []model.Workspace, id string) (model.Workspace, bool) {
	i := slices.IndexFunc(list, func(w model.Workspace) bool { return w.ID == id })
	if i < 0 {
		return model.Workspace{}, false
	}
	return list[i], true
}

// findRepositories collects the repositories that records and bases lead to.
func (s *survey) findRepositories() {
	for _, w := range slices.Concat(s.Workspaces, s.Deleted) {
		if w.GitDir != "" {
			s.repositories[w.GitDir] = w.Repository
		}
	}
	for _, gitDir := range s.Retired {
		if gitDir != "" && s.repositories[gitDir] == "" {
			s.repositories[gitDir] = ""
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

// listRepositories lists what may be left over in the repositories. The records
// are read again after that.
func (s *survey) listRepositories(ctx context.Context) []Leftover {
	var list []Leftover
	for _, gitDir := range slices.Sorted(maps.Keys(s.repositories)) {
		if _, err := os.Stat(gitDir); errors.Is(err, fs.ErrNotExist) {
			continue // each of its workspaces reports that
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
	staged, err := repo.Stages()
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(staged)) {
		list = append(list, Leftover{Kind: KindTrash, What: staged[id], ID: id, Repository: top, gitDir: gitDir})
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

// listEntries returns git's entries for worktrees that were in a listed
// directory and that are locked as ours, or were being made.
func (s *survey) listEntries(gitDir, top string) []Leftover {
	entries, err := os.ReadDir(filepath.Join(gitDir, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.unknown(gitDir, err)
	}
	var list []Leftover
	for _, e := range entries {
		entry := filepath.Join(gitDir, "worktrees", e.Name())
		root, err := git.EntryRoot(entry)
		if err != nil {
			continue // unreadable
		}
		id := s.idOf(e.Name(), root)
		if model.CheckID(id) != nil {
			continue // not ours
		}
		if reason, err := git.LockReason(filepath.Join(entry, "locked")); err != nil || reason != git.WorkspaceReason(id) && reason != "initializing" {
			continue
		}
		l := Leftover{Kind: KindEntry, What: entry, ID: id, Repository: top, gitDir: gitDir, root: root}
		if b := s.base(filepath.Dir(filepath.Dir(root))); b != nil {
			l.given = b.given
		}
		list = append(list, l)
	}
	return list
}
