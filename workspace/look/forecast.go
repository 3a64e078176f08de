package look

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// mergeTime limits the merge of one pair.
const mergeTime = 30 * time.Second

// Forecast says what merging two workspaces would do.
type Forecast struct {
	WorkspaceID string `json:"workspace_id" doc:"The id of the other workspace"`
	Workspace   string `json:"workspace" doc:"The name of the other workspace"`
	// Merge is clean only if that is known of all that both have changed,
	// committed or not. Conflicts are certain. BothChange are possible, because
	// what is not committed yet may still change.
	Merge      string    `json:"merge" enum:"clean,possible,conflict,unknown" doc:"Whether both can be merged; possible means that uncommitted changes may conflict"`
	Conflicts  []string  `json:"conflicts,omitempty" doc:"Files that a merge of the commits would leave to be resolved"`
	BothChange []string  `json:"both_change,omitempty" doc:"Files that both have changed, at least one of them without a commit yet"`
	Truncated  bool      `json:"truncated,omitempty" doc:"Whether a list was cut"`
	Unknown    []string  `json:"unknown,omitempty" doc:"What could not be found out, and why"`
	AsOf       time.Time `json:"as_of"`
}

// side is one workspace of a pair.
type side struct {
	g     *git.View
	head  string
	dirty map[string]bool // paths with uncommitted changes
}

// Forecast compares w with each of others, which must be of the same
// repository. It merges commits into temporary objects, and writes nothing to
// the repository. An error concerns w. What is unknown of another workspace is
// in its Forecast.
func (i *Inspector) Forecast(ctx context.Context, w model.Workspace, others []model.Workspace) (_ []Forecast, err error) {
	defer model.Containing(w.Name, &err)
	mine, err := i.side(ctx, w)
	if err != nil {
		return nil, err
	}
	defer mine.g.Close()
	list := []Forecast{}
	for _, other := range others {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		f := Forecast{WorkspaceID: other.ID, Workspace: other.Name, Merge: "unknown", AsOf: time.Now().UTC()}
		if other.GitDir != w.GitDir {
			return nil, fmt.Errorf("workspaces %s and %s: not of one repository: %w", w.Name, other.Name, model.ErrBadRequest)
		}
		if err := i.pair(ctx, mine, other, &f); err != nil {
			f.Unknown = append(f.Unknown, err.Error())
		}
		list = append(list, f)
	}
	return list, nil
}

func (i *Inspector) side(ctx context.Context, w model.Workspace) (s side, err error) {
	g, err := i.boxedView(ctx, w)
	if err != nil {
		return side{}, err
	}
	s.g = g
	defer func() {
		if err != nil {
			g.Close()
			err = fmt.Errorf("look at workspace %s: %w", w.Name, err)
		}
	}()
	if s.head, err = s.g.Commit(ctx, "HEAD"); err == nil && s.head == "" {
		err = fmt.Errorf("HEAD: %w", model.ErrNoCommits)
	}
	if err != nil {
		return side{}, err
	}
	s.dirty, err = Uncommitted(ctx, s.g.Look)
	return s, err
}

// Uncommitted returns the files with changes that are not committed, untracked
// ones too, by their paths. reading makes the command that reads the checkout: Look of
// a view or of the checkout.
func Uncommitted(ctx context.Context, reading func(args ...string) git.Command) (map[string]bool, error) {
	dirty := map[string]bool{}
	answered := false
	c := reading("status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
	c.Limit = statusTime
	c.Each = func(record string) {
		switch {
		case strings.HasPrefix(record, "# "):
			answered = true
		case strings.HasPrefix(record, "1 "):
			dirty[field(record, 8)] = true
		case strings.HasPrefix(record, "u "):
			dirty[field(record, 10)] = true
		case strings.HasPrefix(record, "? "):
			dirty[record[2:]] = true
		}
	}
	if _, err := c.Run(ctx); err != nil {
		return nil, err
	}
	if !answered {
		return nil, c.Silent()
	}
	return dirty, nil
}

// pair fills in f for mine and other.
func (i *Inspector) pair(ctx context.Context, mine side, other model.Workspace, f *Forecast) error {
	theirs, err := i.side(ctx, other)
	if err != nil {
		return err
	}
	defer theirs.g.Close()
	if err := f.merge(ctx, mine, theirs); err != nil {
		f.Unknown = append(f.Unknown, "merge: "+err.Error())
	}
	err = f.overlap(ctx, mine, theirs)
	switch {
	case f.Merge != "clean":
	case err != nil:
		f.Merge = "unknown"
	case len(f.BothChange) > 0:
		f.Merge = "possible"
	}
	if err != nil {
		return fmt.Errorf("files that both change: %w", err)
	}
	return nil
}

// merge merges both HEADs. The resulting objects go into the view.
func (f *Forecast) merge(ctx context.Context, mine, theirs side) error {
	c := mine.g.Look("merge-tree", "--write-tree", "--name-only", "--no-messages", "--allow-unrelated-histories", "-z", mine.head, theirs.head)
	c.Limit = mergeTime
	var files []string
	first := true
	c.Each = func(record string) { // the tree, then the files in conflict
		if !first && record != "" {
			files = append(files, record)
		}
		first = false
	}
	_, err := c.Run(ctx)
	switch {
	case err == nil:
		f.Merge = "clean"
	case git.ExitCode(err) == 1 && len(files) > 0:
		f.Merge = "conflict"
		f.Conflicts = f.names(files)
	case git.ExitCode(err) == 129:
		return fmt.Errorf("git is too old to merge without a checkout: version 2.38 is needed")
	default:
		return err
	}
	return nil
}

// overlap names the files that one side has changed without a commit, and that
// the other side has changed at all.
func (f *Forecast) overlap(ctx context.Context, mine, theirs side) error {
	if len(mine.dirty)+len(theirs.dirty) == 0 {
		return nil
	}
	base, err := mergeBase(ctx, mine.g, mine.head, theirs.head)
	if err != nil {
		return err
	}
	both := map[string]bool{}
	for _, pair := range [][2]side{{mine, theirs}, {theirs, mine}} {
		committed, err := ChangedBetween(ctx, mine.g, base, pair[1].head)
		if err != nil {
			return err
		}
		for path := range pair[0].dirty {
			if pair[1].dirty[path] || committed[path] {
				both[path] = true
			}
		}
	}
	f.BothChange = f.names(slices.Sorted(maps.Keys(both)))
	return nil
}

// ChangedBetween returns the files that differ between two commits; none if from
// is "".
func ChangedBetween(ctx context.Context, g *git.View, from, to string) (map[string]bool, error) {
	changed := map[string]bool{}
	if from == "" || from == to {
		return changed, nil
	}
	c := g.Look("diff-tree", "-r", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", from, to, "--")
	c.Limit = statusTime
	c.Each = func(path string) { changed[path] = true }
	_, err := c.Run(ctx)
	return changed, err
}

// names quotes paths for display, at most MaxListed.
func (f *Forecast) names(paths []string) []string {
	var out []string
	for _, path := range paths {
		if len(out) == model.MaxListed {
			f.Truncated = true
			break
		}
		out = append(out, plaintext.Quoted(path))
	}
	return out
}
