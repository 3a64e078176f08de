package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"middleman/internal/api"
	"middleman/internal/bundle"
	"middleman/internal/fault"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// maxSpawn is how long a spawn waits for its workspace.
const maxSpawn = 30 * time.Minute

// spawning is one spawn in progress.
type spawning struct {
	parent    store.Session
	workspace workspace.Workspace // the parent's workspace
	name      string
	suffix    bool
	isolation store.Isolation
	plan      plan
}

// spawn starts a worker of a session. It writes a record before it makes
// anything. If the worker cannot be made, only that record is left.
func (s *App) spawn(ctx context.Context, parentID string, in api.NewWorker) (api.Spawned, error) {
	parent, err := s.Store.Session(ctx, parentID)
	if err != nil {
		return api.Spawned{}, err
	}
	// Meanwhile the parent's workspace is neither deleted nor restored.
	leave, ok := s.gates.launch(parent.WorkspaceID)
	if !ok {
		return api.Spawned{}, Refusef(api.CodeBusy, "the parent's workspace is being deleted")
	}
	defer leave()
	x, err := s.planSpawn(ctx, parent, in)
	if err != nil {
		return api.Spawned{}, err
	}
	if x.isolation == store.IsolationShared {
		return s.spawnShared(ctx, x)
	}
	return s.spawnWorktree(ctx, x)
}

// planSpawn checks the request and changes nothing.
func (s *App) planSpawn(ctx context.Context, parent store.Session, in api.NewWorker) (spawning, error) {
	if parent.State.Ended() {
		return spawning{}, Refusef(api.CodeEnded, "session %s has ended: it can start no more workers", parent.ID)
	}
	w, err := s.Store.Workspace(ctx, parent.WorkspaceID)
	if err != nil {
		return spawning{}, err
	}
	if w.State != workspace.StateReady && w.State != workspace.StateCreating {
		return spawning{}, Refusef(api.CodeBusy, "workspace %s is %s: no worker can be started in it", s.label(ctx, w), w.State)
	}
	if b := parent.Bundle; b != nil && in.Session.Bundle == nil {
		if name, is := strings.CutPrefix(in.Session.Profile, b.ID+"/"); is {
			in.Session.Profile, in.Session.Bundle = name, &api.BundleRef{ID: b.ID, Digest: b.Digest}
		}
	}
	if err := s.checkGrant(ctx, parent, w, in.Session); err != nil {
		return spawning{}, err
	}
	x := spawning{parent: parent, workspace: w, name: in.Name, suffix: in.Suffix, isolation: store.Isolation(in.Isolation)}
	if x.isolation == "" {
		x.isolation = store.IsolationWorktree
	}
	bound, err := s.rulesOf(ctx, parent)
	if err != nil {
		return spawning{}, err
	}
	if in, err = narrow(in, bound, rules{clipboard: s.Clipboard, keep: s.JournalBytes}); err != nil {
		return spawning{}, err
	}
	if x.isolation == store.IsolationWorktree {
		in.Session.CallerEnv = withoutTree(in.Session.CallerEnv, w.Root)
	}
	if x.plan, err = s.plan(ctx, in.Session, profiles{repository: s.profilesOf(w), parent: &parent}); err != nil {
		return spawning{}, err
	}
	dir := in.Directory
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(parent.Dir, dir)
	}
	x.plan.suffix = in.Suffix
	x.plan.id, x.plan.parent = terminal.NewID("s"), parent.ID
	x.plan.dir, err = workspace.CheckDirectory(w, dir)
	return x, err
}

// checkGrant refuses a worker that the profile of its parent does not grant.
func (s *App) checkGrant(ctx context.Context, parent store.Session, w workspace.Workspace, in api.NewSession) error {
	if parent.Profile == "" {
		return nil
	}
	if parent.Bundle != nil {
		return s.checkBundleGrant(ctx, parent, in)
	}
	profile, err := s.profile(ctx, parent.Profile, profiles{repository: s.profilesOf(w)})
	if err != nil {
		return err
	}
	switch {
	case profile.Spawn == nil || in.Profile != "" && slices.Contains(profile.Spawn, in.Profile):
		return nil
	case len(profile.Spawn) == 0:
		return Refusef(api.CodeForbidden, "profile %s of session %s may start no workers (spawn in its profile)", profile.Name, parent.Name)
	}
	return Refusef(api.CodeForbidden, "profile %s of session %s may start only workers of these profiles: %s (spawn in its profile)",
		profile.Name, parent.Name, strings.Join(profile.Spawn, ", "))
}

// checkBundleGrant refuses a worker that the bundle of its parent does not name, or that
// this host has not granted.
func (s *App) checkBundleGrant(ctx context.Context, parent store.Session, in api.NewSession) error {
	ref := api.BundleRef{ID: parent.Bundle.ID, Digest: parent.Bundle.Digest}
	may := slices.ContainsFunc(parent.Bundle.Grants, func(g bundle.Grant) bool {
		return g.Asked == bundle.Capability+":"+bundle.CapabilitySpawn && g.Result == bundle.Granted
	})
	if !may {
		return Refusef(api.CodeForbidden, "session %s may start no workers: its bundle does not ask for it, or policy.toml does not allow it", parent.Name)
	}
	_, of, err := s.openProfile(ctx, ref, parent.Bundle.Profile)
	if err != nil {
		return err
	}
	if in.Bundle == nil || *in.Bundle != ref || !slices.Contains(of.Spawn, in.Profile) {
		return Refusef(api.CodeForbidden, "profile %s of session %s may start only workers of these profiles of its bundle: %s", parent.Profile, parent.Name, strings.Join(of.Spawn, ", "))
	}
	return nil
}

// withoutTree returns an environment without the directories of PATH that are in
// the tree at root: a worker with a tree of its own must not run what the
// parent's holds.
func withoutTree(environment [][]byte, root string) [][]byte {
	inTree := func(dir string) bool {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		rest, err := filepath.Rel(root, dir)
		return err == nil && filepath.IsLocal(rest)
	}
	out := slices.Clone(environment)
	for i, entry := range out {
		if list, ok := strings.CutPrefix(string(entry), "PATH="); ok {
			kept := slices.DeleteFunc(filepath.SplitList(list), inTree)
			out[i] = []byte("PATH=" + strings.Join(kept, string(filepath.ListSeparator)))
		}
	}
	return out
}

// tombstone returns the record of a spawn, as it is before anything is made.
func (x spawning) tombstone(workspaceID, workspaceName string) store.Tombstone {
	return store.Tombstone{
		ID: x.plan.id, Name: x.plan.name, Isolation: x.isolation,
		Parent: x.parent.ID, ParentWorkspace: x.workspace.ID,
		Workspace: workspaceID, WorkspaceName: workspaceName,
		Started: time.Now().UTC(), State: terminal.StateStarting,
	}
}

// spawnShared starts one more session in the parent's workspace, by default in
// the directory where the parent's session was started.
func (s *App) spawnShared(ctx context.Context, x spawning) (api.Spawned, error) {
	if err := s.workers.add(x.tombstone(x.workspace.ID, x.workspace.Name)); err != nil {
		return api.Spawned{}, err
	}
	fault.Here("spawn/recorded")
	row, note, err := s.launch(ctx, x.workspace, x.plan)
	fault.Here("spawn/launched")
	if err != nil {
		if row.State == terminal.StateFailed || row.ID == "" {
			s.updateTombstone(x.plan.id, failed(s.Explain(err).Detail))
		}
		if row.State == terminal.StateFailed {
			err = errors.Join(err, s.forgetSession(ctx, row))
		}
		return api.Spawned{}, err
	}
	s.spawned(x.plan.id, row, x.workspace)
	out := api.Spawned{
		Workspace: s.workspaceView(ctx, x.workspace), Session: s.sessionView(ctx, row, s.label(ctx, x.workspace)),
		Isolation: string(x.isolation),
	}
	if note != "" {
		out.Warnings = append(out.Warnings, note)
	}
	return out, nil
}

// spawned updates the tombstone once the worker runs.
func (s *App) spawned(id string, row store.Session, w workspace.Workspace) {
	s.updateTombstone(id, func(t *store.Tombstone) {
		t.Name, t.State, t.Path, t.WorkspaceName = row.Name, terminal.StateRunning, row.Dir, w.Name
		if t.Isolation == store.IsolationWorktree {
			t.Branch, t.Base, t.GitDir = w.Branch, w.BaseCommit, w.GitDir
		}
	})
	fault.Here("spawn/done")
}

// spawnWorktree makes a workspace on a branch of its own, in the parent's
// scope, and starts the session in it.
func (s *App) spawnWorktree(ctx context.Context, x spawning) (api.Spawned, error) {
	asked := api.NewWorkspace{Name: x.name, Suffix: x.suffix, Mode: workspace.ModeWorktree, Directory: x.plan.dir}
	request, err := newRequest(asked)
	if err != nil {
		return api.Spawned{}, err
	}
	request.Parent, request.ParentSession = &x.workspace, x.parent.ID
	x.plan.dir = "" // it starts in its own workspace's directory
	brought, err := s.bring(ctx, x.workspace)
	if err != nil {
		return api.Spawned{}, err
	}
	uncommitted, err := s.Workspaces.Uncommitted(ctx, request)
	if err != nil {
		return api.Spawned{}, err
	}
	if err := s.workers.add(x.tombstone(request.ID, x.name)); err != nil {
		return api.Spawned{}, err
	}
	fault.Here("spawn/recorded")
	w, row, err := s.makeWorker(ctx, x, request, asked)
	if err != nil {
		s.updateTombstone(x.plan.id, failed(s.Explain(err).Detail))
		return api.Spawned{}, err
	}
	s.spawned(x.plan.id, row, w)
	out := api.Spawned{Workspace: s.workspaceView(ctx, w), Session: s.sessionView(ctx, row, s.label(ctx, w)), Isolation: string(x.isolation)}
	if host := x.plan.backend.Name(); row.Backend != host {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s could not start it (the server's log says why), so %s hosts it", host, row.Backend))
	}
	if brought.Head != "" || brought.Conflict {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the worker begins at commit %.12s of branch %s, and the sandbox of its parent is elsewhere", w.BaseCommit, brought.Branch))
	}
	if last, is, err := s.Store.LastStage(ctx, w.ID, "copy"); err == nil && is {
		if why, skipped := strings.CutPrefix(last.Detail, workspace.Skipped); skipped {
			out.Warnings = append(out.Warnings, "not all was copied that "+workspace.IncludeFile+" names: "+why)
		}
	}
	if uncommitted > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%s of the parent not committed: the worker begins at commit %.12s without these changes",
			counted(uncommitted, "changed or new file is", "changed or new files are"), w.BaseCommit))
	}
	return out, nil
}

// makeWorker makes the workspace and its session; on an error it leaves neither.
func (s *App) makeWorker(ctx context.Context, x spawning, request workspace.CreateRequest, asked api.NewWorkspace) (workspace.Workspace, store.Session, error) {
	added, err := s.addWorkspace(ctx, &request, asked)
	if err != nil {
		return workspace.Workspace{}, store.Session{}, err
	}
	fault.Here("spawn/row")
	if _, err := s.begin(ctx, creation{added, request, &x.plan}); err != nil {
		return workspace.Workspace{}, store.Session{}, err
	}
	w, err := s.waitCreated(ctx, added.ID, maxSpawn)
	if err != nil {
		return workspace.Workspace{}, store.Session{}, err
	}
	if w.State == workspace.StateFailed {
		err := Refusef(api.CodeStartFailed, "the worker's workspace was not made: %s", w.Error)
		err.Conflict = true
		return workspace.Workspace{}, store.Session{}, errors.Join(err, s.undoSpawn(ctx, w))
	}
	row, err := s.Store.Session(ctx, x.plan.id)
	if err == nil && row.State != terminal.StateFailed {
		return w, row, nil
	}
	why := "its directory was gone"
	if err == nil {
		why = row.Error
		err = s.forgetSession(ctx, row)
	} else if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	err = errors.Join(Refusef(api.CodeStartFailed, "the worker's session did not start: %s", why), err)
	return workspace.Workspace{}, store.Session{}, errors.Join(err, s.undoSpawn(ctx, w))
}

// counted returns a number with its noun: one for 1, else many.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// rules are what a session may do with its viewer and with the disk. A sandbox has
// rules of its own: its policy.
type rules struct {
	clipboard terminal.Clipboard
	keep      int64 // bytes of output to keep, 0 for all
	sandboxed bool
}

// rulesOf returns the rules of a session that starts a worker. That of an earlier
// build may not say how much output it keeps: then it is what is usual.
func (s *App) rulesOf(ctx context.Context, row store.Session) (rules, error) {
	status, err := s.status(ctx, row)
	if err != nil {
		return rules{}, fmt.Errorf("ask session %s for its rules, which bind its workers: %w", row.Name, err)
	}
	r := rules{clipboard: status.Clipboard, keep: s.JournalBytes, sandboxed: row.Sandbox != nil}
	if status.JournalBytes != nil {
		r.keep = *status.JournalBytes
	}
	return r, nil
}

// narrow returns the request for a worker with rules that are nowhere weaker than its
// parent's, whoever asks: a program in a sandbox asks for its own workers. usual are the
// rules of a session that names none.
//
// A field that is not changed here is one that plan and planSpawn bound by the parent
// (Directory, and in Session: Profile, Bundle, Capabilities, Sandbox, Network), or one
// by which a program gets no more than it has. TestNarrow has each field of both.
func narrow(in api.NewWorker, parent, usual rules) (api.NewWorker, error) {
	if in.Session.Name != "" {
		return in, Refusef(api.CodeBadRequest, "give the worker's name in name, not in session.name")
	}
	if store.Isolation(in.Isolation) == store.IsolationShared {
		in.Session.Name = in.Name
	}
	in.Session.CleanEnv = true
	if parent.sandboxed {
		in.Session.AgentLink = false // keys of the user are unreachable for the parent
		if in.Session.CallerEnv == nil {
			in.Session.CallerEnv = [][]byte{} // nothing of the login, which the parent has not either
		}
	}
	if asked := cmp.Or(in.Session.Clipboard, usual.clipboard, terminal.ClipboardAllow); asked.Known() { // plan refuses others
		in.Session.Clipboard = asked.Stricter(parent.clipboard)
	}
	keep := usual.keep
	if in.Session.KeepOutput != nil {
		keep = *in.Session.KeepOutput
	}
	if parent.keep != 0 && (keep == 0 || keep > parent.keep) {
		keep = parent.keep
	}
	in.Session.KeepOutput = &keep
	return in, nil
}
