// Package transcripts keeps the transcripts of sessions of deleted workspaces:
// output, last screen and exit. They are in the sessions' state directories, which a
// delete leaves in place. The package measures them, holds them within a budget, and
// removes them.
//
// It removes a state directory only if the store says that the session is one of
// a deleted workspace, and neither that session nor that workspace exists. The
// directory goes before its record, so that a crash in between leaves a record
// without a directory, which the next removal drops.
package transcripts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"middleman/internal/api"
	"middleman/internal/fault"
	"middleman/internal/store"
	"middleman/terminal"
)

// block is the unit in which a file takes space on most disks.
const block = 4096 // bytes

// Keeper keeps the transcripts of one data directory. Its methods are safe for
// concurrent use.
type Keeper struct {
	Store    *store.Store
	Backends []terminal.Backend
	// Dir holds the state directories of all sessions.
	Dir string
	// Budget is how many bytes the transcripts may take in all: 0 keeps none, a
	// negative number keeps all.
	Budget int64
	// Block keeps others from a workspace until leave is called. The caller of a
	// method that removes anything must not hold it for any workspace.
	Block func(workspaceID string) (leave func())
	// trimming is held by Trim, so that two do not remove for the same excess.
	trimming sync.Mutex
}

// Measure returns the bytes that the state directory of each session takes on
// disk, by the session's id. A session without a state directory is left out.
func (k *Keeper) Measure(rows []store.Session) map[string]int64 {
	sizes := map[string]int64{}
	for _, row := range rows {
		if n, is := k.size(row.ID); is {
			sizes[row.ID] = n
		}
	}
	return sizes
}

// size returns the bytes that a state directory takes on disk. is is false if
// there is no such directory. What cannot be read does not count.
func (k *Keeper) size(id string) (bytes int64, is bool) {
	if terminal.CheckID(id) != nil {
		return 0, false
	}
	_ = filepath.WalkDir(filepath.Join(k.Dir, id), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() && !entry.Type().IsRegular() {
			return nil
		}
		is = is || entry.IsDir()
		if info, err := entry.Info(); err == nil {
			bytes = add(bytes, onDisk(info))
		}
		return nil
	})
	return bytes, is
}

// onDisk returns what a file takes in whole blocks, at least one.
func onDisk(info fs.FileInfo) int64 {
	n := info.Size()
	if !info.Mode().IsRegular() || n <= 0 {
		return block
	}
	return add((n-1)/block*block, block)
}

// add returns a + b, or the largest number if that is too large: a sparse file
// can have any size.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Forecast returns what would be kept of the sessions of a workspace that is
// deleted now.
func (k *Keeper) Forecast(rows []store.Session) api.TranscriptCount {
	sizes := k.Measure(rows)
	var list []store.Transcript
	for _, row := range rows {
		if n, is := sizes[row.ID]; is {
			list = append(list, store.Transcript{Session: row, Bytes: n})
		}
	}
	count := Count(list)
	for _, t := range k.excess(list) {
		count.Sessions--
		count.Bytes -= t.Bytes
		count.Gone++
	}
	return count
}

// Count counts transcripts that are kept.
func Count(list []store.Transcript) api.TranscriptCount {
	count := api.TranscriptCount{Sessions: len(list)}
	for _, t := range list {
		count.Bytes = add(count.Bytes, t.Bytes)
	}
	return count
}

// excess returns the transcripts that are beyond the budget: those of the oldest
// deletion first, of one deletion those of the oldest sessions. It sorts list.
func (k *Keeper) excess(list []store.Transcript) []store.Transcript {
	if k.Budget < 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b store.Transcript) int {
		return cmp.Or(a.DeletedAt.Compare(b.DeletedAt), strings.Compare(a.WorkspaceID, b.WorkspaceID),
			a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	kept := int64(0)
	for i := len(list) - 1; i >= 0; i-- {
		if kept = add(kept, list[i].Bytes); kept > k.Budget || k.Budget == 0 {
			return list[:i+1]
		}
	}
	return nil
}

// Trim removes the transcripts that are beyond the budget, and returns those
// that it removed. An error with one does not keep it from the others.
func (k *Keeper) Trim(ctx context.Context) (gone []store.Transcript, err error) {
	if k.Budget < 0 {
		return nil, nil
	}
	k.trimming.Lock()
	defer k.trimming.Unlock()
	list, _, err := k.Store.Transcripts(ctx, "", store.Page{Limit: -1})
	if err != nil {
		return nil, err
	}
	for _, t := range k.excess(list) {
		if ctx.Err() != nil {
			return gone, ctx.Err()
		}
		removed, failed := k.Remove(ctx, t)
		if removed {
			gone = append(gone, t)
		}
		err = errors.Join(err, failed)
	}
	return gone, err
}

// Remove removes the state directory of a session of a deleted workspace, and
// its record. removed is false, without an error, if it is none any more: it was
// removed or restored meanwhile.
func (k *Keeper) Remove(ctx context.Context, t store.Transcript) (removed bool, err error) {
	leave := k.Block(t.WorkspaceID)
	defer leave()
	t, err = k.Store.Transcript(ctx, t.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = k.checkGone(ctx, t)
	}
	if err == nil {
		err = k.removeState(ctx, t)
	}
	if err != nil {
		return false, fmt.Errorf("remove the transcript of session %s of deleted workspace %s: %w", t.Name, t.WorkspaceName, err)
	}
	fault.Here("transcript/removed")
	err = k.Store.ForgetTranscript(ctx, t.ID)
	return err == nil, err
}

// checkGone returns an error if the session or its workspace exists, whatever
// the record of the transcript says.
func (k *Keeper) checkGone(ctx context.Context, t store.Transcript) error {
	if _, err := k.Store.Session(ctx, t.ID); !errors.Is(err, store.ErrNotFound) {
		return cmp.Or(err, fmt.Errorf("the session exists: %w", terminal.ErrRunning))
	}
	if _, err := k.Store.Workspace(ctx, t.WorkspaceID); !errors.Is(err, store.ErrNotFound) {
		return cmp.Or(err, fmt.Errorf("the workspace exists: %w", terminal.ErrRunning))
	}
	return nil
}

// removeState removes the state directory, which its backend proves to be of an
// ended session. None is no error.
func (k *Keeper) removeState(ctx context.Context, t store.Transcript) error {
	for _, b := range k.Backends {
		if b.Name() == t.Backend {
			if err := b.Session(t.ID).Remove(ctx); !errors.Is(err, terminal.ErrNotFound) {
				return err
			}
			return nil
		}
	}
	return fmt.Errorf("backend %q: %w", t.Backend, errors.ErrUnsupported)
}

// Forget removes the transcripts of the deleted workspaces with these ids, or of
// all deleted workspaces if there are none. It returns what is or, in a dry run,
// would be gone of each workspace, in the order of their deletion. A failure is
// in its item.
func (k *Keeper) Forget(ctx context.Context, workspaces []string, dryRun bool) ([]api.Transcripts, error) {
	list, _, err := k.Store.Transcripts(ctx, "", store.Page{Limit: -1})
	if err != nil {
		return nil, err
	}
	found := map[string]*api.Transcripts{}
	for _, t := range list {
		if len(workspaces) > 0 && !slices.Contains(workspaces, t.WorkspaceID) {
			continue
		}
		of := found[t.WorkspaceID]
		if of == nil {
			of = &api.Transcripts{WorkspaceID: t.WorkspaceID, WorkspaceName: t.WorkspaceName, DeletedAt: t.DeletedAt}
			found[t.WorkspaceID] = of
		}
		if !dryRun {
			removed, err := k.Remove(ctx, t)
			if err != nil {
				of.Error = joined(of.Error, err)
			}
			if !removed {
				continue
			}
		}
		of.Sessions++
		of.Bytes = add(of.Bytes, t.Bytes)
	}
	out := make([]api.Transcripts, 0, len(found))
	for _, of := range found {
		out = append(out, *of)
	}
	slices.SortFunc(out, func(a, b api.Transcripts) int {
		return cmp.Or(a.DeletedAt.Compare(b.DeletedAt), strings.Compare(a.WorkspaceID, b.WorkspaceID))
	})
	return out, ctx.Err()
}

// joined adds an error to the text of others.
func joined(text string, err error) string {
	if text == "" {
		return err.Error()
	}
	return text + "; " + err.Error()
}
