package quarantine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"middleman/internal/git"
	"middleman/internal/private"
)

// recordVersion is the version of the record's format.
const recordVersion = 1

// record says what both sides had when they were last brought together. It is ours: no
// program in the sandbox can write it.
type record struct {
	Version   int    `json:"version"`
	Workspace string `json:"workspace"`
	// Entry is git's directory for the checkout, relative to the repository.
	Entry string `json:"entry"`
	// Branch is the ref that imports move, "" if HEAD was detached.
	Branch string `json:"branch"`
	// Refs are the repository's refs and their objects.
	Refs map[string]string `json:"refs"`
	// Index is the tree that the index of the checkout held, "" if it had conflicts.
	Index string `json:"index"`
	// Moving is the commit that an import was about to move Branch to, or "".
	Moving string `json:"moving,omitempty"`
	// Seen is what the private directory looked like when the repository had all of it,
	// and Host what the repository looked like when the private directory had all of that.
	Seen string `json:"seen,omitempty"`
	Host string `json:"host,omitempty"`
	// Pinned are the refs that the last import found to keep what is new, and Head is where
	// HEAD was in the sandbox if not on Branch: see Result.
	Pinned map[string]string `json:"pinned,omitempty"`
	Head   string            `json:"head,omitempty"`
	// Submodules are the paths of the checkout's submodules, and what .git was there.
	Submodules map[string]string `json:"submodules,omitempty"`
}

func (q *Quarantine) load() (record, error) {
	var r record
	raw, err := private.ReadFile(q.path(recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if err := decodeRecord(raw, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", q.path(recordName), err)
	}
	if r.Workspace != q.w.ID {
		return r, fmt.Errorf("read %s: it belongs to workspace %q", q.path(recordName), r.Workspace)
	}
	return r, nil
}

// decodeRecord accepts only what save has written.
func decodeRecord(raw []byte, r *record) error {
	if err := json.Unmarshal(raw, r); err != nil {
		return err
	}
	switch {
	case r.Version != recordVersion:
		return fmt.Errorf("version %d: this middleman knows %d only", r.Version, recordVersion)
	case !filepath.IsLocal(r.Entry):
		return fmt.Errorf("the entry %q leaves the repository", r.Entry)
	case r.Branch != "" && !strings.HasPrefix(r.Branch, "refs/heads/"):
		return fmt.Errorf("%q is no branch", r.Branch)
	}
	for _, object := range []string{r.Index, r.Moving} {
		if object != "" && !git.IsObjectID(object) {
			return fmt.Errorf("%q is no object", object)
		}
	}
	if r.Head != "" && !plainRef(r.Head) && !git.IsObjectID(r.Head) {
		return fmt.Errorf("%q is no HEAD", r.Head)
	}
	for ref, object := range r.Pinned {
		if !strings.HasPrefix(ref, RefsOf(r.Workspace)) || !git.IsObjectID(object) {
			return fmt.Errorf("%q is no ref of ours with an object", ref)
		}
	}
	for name := range r.Submodules {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("the submodule %q leaves the checkout", name)
		}
	}
	for ref, object := range r.Refs {
		if !strings.HasPrefix(ref, "refs/") || !git.IsObjectID(object) {
			return fmt.Errorf("%q is no ref with an object", ref)
		}
	}
	return nil
}

func (q *Quarantine) save(r record) error {
	r.Version, r.Workspace = recordVersion, q.w.ID
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return private.Replace(q.path(recordName), raw, private.Durable)
}
