package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"middleman/internal/api"
	"middleman/internal/sandbox"
	"middleman/internal/store"
	"middleman/workspace"
)

// A program in a sandbox can rename any directory below those that it may write to, and
// put a link in its place. git and this server are not confined, write by path, and would
// follow the link. So nothing of a workspace is made or restored where such a program
// could be (exposedBy), and a sandbox makes read-only what leads to the workspaces that
// are there already (others).
//
// Neither misses the other: a creation registers in placing before it looks for sandboxes,
// and the start of a session leaves its mark, the private git directory, before it looks
// at placing and then at the rows.

// placing has the directories in which workspaces are being made or restored. The zero
// value is ready.
type placing struct {
	mu sync.Mutex
	in map[string]string // by workspace; mu guards it
}

func (p *placing) begin(id, dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in == nil {
		p.in = map[string]string{}
	}
	p.in[id] = dir
}

func (p *placing) end(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.in, id)
}

func (p *placing) dirs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.in))
}

// takePlace says that workspace id is about to be made in dir, until s.placing.end, unless
// it returns why a sandboxed program could replace directories there.
func (s *App) takePlace(ctx context.Context, id, dir string) (why string, err error) {
	s.placing.begin(id, dir)
	why, err = s.exposedBy(ctx, dir)
	if why != "" || err != nil {
		s.placing.end(id)
	}
	return why, err
}

// exposedBy returns why a sandboxed program could replace directories in dir, "" if none
// can. A workspace in which a sandboxed session was ever started counts as long as it is
// recorded: one that runs may be older than this server.
func (s *App) exposedBy(ctx context.Context, dir string) (string, error) {
	list, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	if err != nil {
		return "", err
	}
	for _, w := range list {
		if w.Root != "" && s.hasQuarantine(w) && sandbox.Within(dir, canonical(w.Root)) {
			return fmt.Sprintf("programs in the sandbox of workspace %s can replace directories there", s.label(ctx, w)), nil
		}
	}
	rows, _, err := s.Store.Sessions(ctx, "", store.Page{Limit: -1})
	if err != nil {
		return "", err
	}
	for _, row := range rows {
		if row.Sandbox == nil || row.State.Ended() {
			continue
		}
		policy, err := s.maker().Read(row.ID)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if slices.ContainsFunc(policy.Writable, func(open string) bool { return sandbox.Within(dir, open) }) {
			return fmt.Sprintf("the program in the sandbox of session %s can replace directories there", row.Name), nil
		}
	}
	return "", nil
}

// canonical returns a path without links, or as it is if there is nothing.
func canonical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// others returns the directories of the workspaces of ours besides w, for the policy of a
// sandboxed session of w. It refuses the session while another is being made inside w.
// The private git directory of w must exist.
func (s *App) others(ctx context.Context, w workspace.Workspace) (roots []string, err error) {
	root := canonical(w.Root)
	for _, dir := range s.placing.dirs() {
		if sandbox.Within(dir, root) {
			return nil, Refusef(api.CodeBusy, "a workspace is being made in %s, which no sandbox may change meanwhile: try again in a moment", dir)
		}
	}
	list, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	for _, other := range list {
		if other.ID != w.ID && other.Root != "" && other.Mode != workspace.ModeInPlace {
			roots = append(roots, other.Root)
		}
	}
	return roots, err
}

// restoredApart returns the row of a workspace that is about to be restored: with another
// place if a sandboxed program could replace directories at the one that it had, and then
// note says so. The caller calls s.placing.end.
func (s *App) restoredApart(ctx context.Context, row workspace.Workspace) (_ workspace.Workspace, note []string, err error) {
	if row.Root == "" || row.Mode == workspace.ModeInPlace {
		return row, nil, nil
	}
	why, err := s.takePlace(ctx, row.ID, filepath.Dir(row.Root))
	if err != nil || why == "" {
		return row, nil, err
	}
	apart, err := s.Workspaces.Apart(row)
	if err == nil && apart.Root != row.Root {
		note = []string{fmt.Sprintf("its directory is %s now, because where it was %s", apart.Root, why)}
	}
	return apart, note, err
}
