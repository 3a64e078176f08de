package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"middleman/internal/fault"
	"middleman/internal/private"
	"middleman/terminal"
	"middleman/workspace"
)

// tombstoneVersion is the version of the record's format.
const tombstoneVersion = 1

// Isolation says whether a worker has a directory of its own.
type Isolation string

// The isolations of a worker.
const (
	// IsolationShared: it works in the parent's directory.
	IsolationShared Isolation = "shared"
	// IsolationWorktree: it has a worktree on a branch of its own.
	IsolationWorktree Isolation = "worktree"
)

// Tombstone is the lasting record of a worker, which is a session that another
// session started. It is written before anything of the worker is made, and
// completed when the worker has ended. It outlives the worker's session,
// workspace and directory.
type Tombstone struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"` // the worker's session
	Name      string    `json:"name,omitempty"`
	Isolation Isolation `json:"isolation"`
	// Depth is 1 for a worker of the user's own session, 2 for a worker of such a
	// worker, and so on.
	Depth           int       `json:"depth"`
	Parent          string    `json:"parent"` // the parent session's id
	ParentWorkspace string    `json:"parent_workspace"`
	Workspace       string    `json:"workspace"` // id of the one that it works in
	WorkspaceName   string    `json:"workspace_name"`
	Path            string    `json:"path,omitempty"` // the directory where it was started
	Branch          string    `json:"branch,omitempty"`
	GitDir          string    `json:"git_dir,omitempty"` // of the repository that has the branch
	Base            string    `json:"base,omitempty"`    // the commit where the branch began
	Tip             string    `json:"tip,omitempty"`     // the branch's commit when the worker had ended
	Started         time.Time `json:"started"`
	// Ended is nil until the worker's end is known. Then the record is complete.
	Ended *time.Time     `json:"ended,omitempty"`
	State terminal.State `json:"state"`
	Exit  *terminal.Exit `json:"exit,omitempty"`
	Error string         `json:"error,omitempty"`
	// Left is the work that was on no branch, and the commits that only the
	// worker's branch had, when the worker had ended. It is nil with
	// IsolationShared, because the directory is also the parent's. It is nil, too,
	// if it could not be determined; Unknown then says why.
	Left    *workspace.Loss `json:"left,omitempty"`
	Unknown string          `json:"left_unknown,omitempty"`
}

// Tombstones is the directory of the tombstones, with a JSON file for each.
type Tombstones struct{ Dir string }

func (t Tombstones) file(id string) string { return filepath.Join(t.Dir, id+".json") }

// Write replaces x's file durably. It sets the version itself.
func (t Tombstones) Write(x Tombstone) error {
	if err := terminal.CheckID(x.ID); err != nil {
		return fmt.Errorf("write record of a worker: %w", err)
	}
	x.Version = tombstoneVersion
	data, err := json.MarshalIndent(x, "", "  ")
	if err == nil {
		err = private.MakeDir(t.Dir)
	}
	if err == nil {
		err = private.ReplaceWith(t.file(x.ID), private.Durable, func(f *os.File) error {
			if _, err := f.Write(append(data, '\n')); err != nil {
				return err
			}
			if err := fault.Error("tombstone/sync"); err != nil {
				return err
			}
			fault.Here("tombstone/written")
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("write record of worker %s: %w", x.ID, err)
	}
	return nil
}

// Remove removes the file of the worker with that id. A missing file is no error.
// After a crash the file may be there again.
func (t Tombstones) Remove(id string) error {
	err := terminal.CheckID(id)
	if err == nil {
		err = private.Dir(t.Dir)
	}
	if err == nil {
		err = os.Remove(t.file(id))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove record of worker %s: %w", id, err)
	}
	return nil
}

// Read returns all tombstones, oldest first. If some cannot be read, it returns
// the others and an error. A missing directory is no error.
func (t Tombstones) Read() ([]Tombstone, error) {
	entries, err := t.entries()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list records of workers: %w", err)
	}
	var list []Tombstone
	var problems []error
	for _, entry := range entries {
		id, is := strings.CutSuffix(entry.Name(), ".json")
		if !is || terminal.CheckID(id) != nil {
			continue // the temporary file of an interrupted write
		}
		x, err := t.read(id)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b Tombstone) int {
		if c := a.Started.Compare(b.Started); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list, errors.Join(problems...)
}

func (t Tombstones) entries() ([]fs.DirEntry, error) {
	if err := private.Dir(t.Dir); err != nil {
		return nil, err
	}
	return os.ReadDir(t.Dir)
}

func (t Tombstones) read(id string) (Tombstone, error) {
	data, err := private.ReadFile(t.file(id))
	var x Tombstone
	if err == nil {
		x, err = decodeTombstone(data, id)
	}
	if err != nil {
		return Tombstone{}, fmt.Errorf("read record of worker %s: %w", id, err)
	}
	return x, nil
}

// decodeTombstone decodes the record of the worker with that id. It refuses a
// record that Write could not have written.
func decodeTombstone(data []byte, id string) (Tombstone, error) {
	var x Tombstone
	if err := json.Unmarshal(data, &x); err != nil {
		return Tombstone{}, err
	}
	if x.Version != tombstoneVersion || x.ID != id {
		return Tombstone{}, fmt.Errorf("it is version %d of %q, but version %d is needed", x.Version, x.ID, tombstoneVersion)
	}
	switch x.State {
	case "", terminal.StateStarting, terminal.StateRunning, terminal.StateStopping, terminal.StateExited, terminal.StateFailed, terminal.StateLost:
	default:
		return Tombstone{}, fmt.Errorf("state is %q", x.State)
	}
	if x.Depth < 0 {
		return Tombstone{}, fmt.Errorf("depth is %d", x.Depth)
	}
	return x, nil
}
