package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"middleman/internal/api"
	"middleman/internal/confine"
	"middleman/internal/dirid"
	"middleman/internal/ownpath"
	"middleman/internal/plaintext"
	"middleman/internal/quarantine"
	"middleman/internal/sandbox"
	"middleman/internal/store"
	"middleman/internal/watch"
	"middleman/workspace"
)

const (
	// bringEvery is how often a running sandboxed session is looked at for commits.
	bringEvery = time.Second
	// bringBlind counts the looks between two imports where changes make no events.
	bringBlind = 10
	// bringTime bounds one import.
	bringTime = 10 * time.Minute
)

// brought is what is known of the imports of each workspace. The zero value is ready.
type brought struct {
	mu   sync.Mutex
	last map[string]api.Brought // by workspace; mu guards it
}

func (b *brought) get(id string) *api.Brought {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last, known := b.last[id]; known {
		return &last
	}
	return nil
}

// set reports whether something has changed that a client is shown.
func (b *brought) set(id string, now api.Brought) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		b.last = map[string]api.Brought{}
	}
	before, known := b.last[id]
	b.last[id] = now
	return !known || before.Problem != now.Problem || before.Head != now.Head || !slices.Equal(before.Kept, now.Kept) || now.Commits > 0
}

func (b *brought) forget(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.last, id)
}

// quarantine returns the private git directory of w, which need not be made.
func (s *App) quarantine(w workspace.Workspace) *quarantine.Quarantine {
	// Without a method git cannot look into it, and says so.
	method, _ := sandbox.Choose(sandbox.Workspace, s.Support())
	return quarantine.At(s.Dirs.Quarantine(w.ID), w, method, func(ctx context.Context) ([]string, error) { return s.hiddenFrom(ctx, w) })
}

// hiddenFrom returns what no sandboxed session of w must read: what is hidden now, and
// what was when its sessions began.
func (s *App) hiddenFrom(ctx context.Context, w workspace.Workspace) ([]string, error) {
	policies, err := s.policies(ctx, w)
	if err != nil {
		return nil, err
	}
	var more []string
	for _, p := range policies {
		more = append(more, p.Hidden...)
	}
	return s.maker().Hidden(more...)
}

// hasQuarantine reports whether sandboxed sessions were started in w.
func (s *App) hasQuarantine(w workspace.Workspace) bool {
	_, err := os.Lstat(s.Dirs.Quarantine(w.ID))
	return err == nil
}

// privateGit makes the private git directory for a session that is about to start.
func (s *App) privateGit(ctx context.Context, id string, w workspace.Workspace) (git confine.Git, notes []string, err error) {
	rows, _, err := s.Store.Sessions(ctx, w.ID, store.Page{Limit: -1})
	if err != nil {
		return git, nil, err
	}
	live := slices.ContainsFunc(rows, func(row store.Session) bool {
		return row.ID != id && row.Sandbox != nil && !row.State.Ended()
	})
	var a quarantine.Access
	err = s.Guarded("make the private git directory of workspace "+w.ID, func() (err error) {
		a, err = s.quarantine(w).Prepare(ctx, live)
		return err
	})
	return confine.Git{Writable: a.Writable, ReadOnly: a.ReadOnly, Binds: a.Binds, Env: a.Env}, a.Notes, s.aboutSandbox(err)
}

// aboutSandbox returns an error of a quarantine so that a client gets its text: what is
// wrong there is mostly of the program in the sandbox, or of the user, and the text says
// what to do. What Explain knows keeps its code.
func (s *App) aboutSandbox(err error) error {
	if _, bug := errors.AsType[*panicError](err); err == nil || bug {
		return err
	}
	if s.Explain(err).Code != api.CodeInternal {
		return err
	}
	return Refusef(api.CodeUnreadable, "the private git directory of this workspace cannot be used: %s", s.redact(oneLine(err)))
}

// bring imports what the sandboxed sessions of w have committed. If nothing has changed
// since the last import, it starts no program. What could not be imported stays where it
// is, and is shown with the workspace.
func (s *App) bring(ctx context.Context, w workspace.Workspace) (out quarantine.Result, err error) {
	if !s.hasQuarantine(w) {
		return out, nil
	}
	q := s.quarantine(w)
	known := s.brought.get(w.ID) != nil // else the last import, which an earlier server made, says it again
	if anything, err := q.ToImport(ctx); err == nil && !anything && known {
		return out, nil
	}
	limited, cancel := context.WithTimeout(ctx, bringTime)
	defer cancel()
	err = s.Guarded("import the commits of workspace "+w.ID, func() (err error) {
		out, err = q.Import(limited)
		return err
	})
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	now := api.Brought{Branch: out.Branch, Commits: out.Commits, Head: out.Head, Kept: slices.Sorted(maps.Keys(out.Pinned)), Problem: notBrought(out)}
	if err != nil {
		now.Problem = "what its sandbox holds cannot be imported: " + s.redact(oneLine(err))
		s.Log.Warn("import the commits of a workspace", "workspace", w.ID, "error", err)
	}
	if s.brought.set(w.ID, now) {
		s.publishWorkspace(ctx, w)
	}
	return out, err
}

// notBrought says in one line what an import left, "" for nothing.
func notBrought(out quarantine.Result) string {
	branch := plaintext.Quoted(out.Branch)
	switch {
	case len(out.Planted) > 0:
		return "the .git of submodule " + plaintext.Quoted(out.Planted[0]) + " is not what it was when its sandbox was made: look at it before you run git there, or above it"
	case len(out.Missed) > 0:
		return "not imported from its sandbox: " + out.Missed[0]
	case out.Conflict:
		return "branch " + branch + " has other commits than its sandbox, which are kept: merge or rebase them"
	case len(out.Submodules) > 0:
		return "commits of its sandbox add a submodule at " + plaintext.Quoted(out.Submodules[0]) + ", so branch " + branch + " did not move: they are kept"
	case out.IndexKept != "":
		return "staged changes were not copied from its sandbox: " + out.IndexKept
	}
	return ""
}

// bringWhile imports the commits of a sandboxed session soon after they are made, until
// the function that it returns is called.
func (s *App) bringWhile(ctx context.Context, row store.Session) (stop func()) {
	if row.Sandbox == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		s.contain("import the commits of session "+row.ID, func() { s.bringOften(ctx, row.WorkspaceID) }, nil)
	})
	return func() {
		cancel()
		done.Wait()
	}
}

func (s *App) bringOften(ctx context.Context, workspaceID string) {
	id := watchedGit(workspaceID)
	dir := filepath.Join(s.Dirs.Quarantine(workspaceID), quarantine.GitDirectory)
	ticks := time.NewTicker(bringEvery)
	defer ticks.Stop()
	defer func() { // the session may have ended just now
		s.noteMade(context.WithoutCancel(ctx), workspaceID)
		s.renewLogins(context.WithoutCancel(ctx), workspaceID)
	}()
	var seen watch.Mark
	for n := 0; ; n++ {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		if n%bringBlind == 0 {
			s.renewLogins(ctx, workspaceID)
		}
		if seen != 0 && s.watcher.Unchanged(id, seen) || seen == 0 && n%bringBlind != 0 {
			continue
		}
		w, err := s.Store.Workspace(ctx, workspaceID)
		if err != nil || w.State != workspace.StateReady || !s.hasQuarantine(w) {
			continue
		}
		// Without events, which is no error here, it is looked at now and then.
		seen, _ = s.watcher.Arm(ctx, id, func() (watch.Tree, error) {
			return watch.Tree{Root: dir, Skip: map[string]bool{"objects": true}}, nil
		})
		_, _ = s.bring(ctx, w) // it is logged, and shown with the workspace
	}
}

// noteMade remembers a repository that a running session has made in a workspace without
// one.
func (s *App) noteMade(ctx context.Context, workspaceID string) {
	w, err := s.Store.Workspace(ctx, workspaceID)
	if err == nil && w.GitDir == "" && w.State == workspace.StateReady && s.hasQuarantine(w) {
		err = s.quarantine(w).NoteMade()
	}
	if err != nil {
		s.Log.Warn("look for a repository that a sandboxed session made", "workspace", workspaceID, "error", err)
	}
}

// renewLogins brings out what programs in the sandbox of a workspace have renewed.
func (s *App) renewLogins(ctx context.Context, workspaceID string) {
	renewed, err := s.maker().RenewLogins(ctx, workspaceID)
	for _, file := range renewed {
		s.Log.Info("a sandboxed program renewed a login", "workspace", workspaceID, "file", file)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("renew logins", "workspace", workspaceID, "error", err)
	}
}

// watchedGit is what the watcher knows the private git directory of a workspace by.
func watchedGit(workspaceID string) string { return "git of " + workspaceID }

// bringEnded imports what an ended session has left, in the background.
func (s *App) bringEnded(ctx context.Context, id string) {
	row, err := s.Store.Session(ctx, id)
	if err != nil || row.Sandbox == nil {
		return
	}
	s.watches.start(context.WithoutCancel(ctx), func(ctx context.Context) {
		if w, err := s.Store.Workspace(ctx, row.WorkspaceID); err == nil && w.State == workspace.StateReady {
			_, _ = s.bring(ctx, w) // it is logged, and shown with the workspace
		}
	})
}

// bringAll imports what sandboxed sessions have committed while no server ran.
func (s *App) bringAll(ctx context.Context) {
	list, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("import commits of sandboxes", "error", err)
	}
	for _, w := range list {
		if w.State == workspace.StateReady {
			_, _ = s.bring(ctx, w) // it is logged, and shown with the workspace
		}
	}
}

// ImportSandbox imports what the sandboxed sessions of a workspace have committed.
func (s *App) ImportSandbox(ctx context.Context, id string) (api.Brought, error) {
	return finish(ctx, s, func(ctx context.Context) (out api.Brought, err error) {
		w, err := s.Store.Workspace(ctx, id)
		if err != nil {
			return out, err
		}
		if !s.hasQuarantine(w) {
			return out, Refusef(api.CodeMissing, "no sandboxed session was started in workspace %s, or it is in no repository: there is nothing to import", s.label(ctx, w))
		}
		r, err := s.bring(ctx, w)
		if err != nil {
			return out, s.aboutSandbox(err)
		}
		if last := s.brought.get(id); last != nil {
			out = *last
		}
		out.Branch, out.Commits = cmp.Or(r.Branch, out.Branch, w.Branch), r.Commits
		return out, nil
	})
}

// sandboxHolds returns what the private git directory of w has that is nowhere else.
func (s *App) sandboxHolds(ctx context.Context, w workspace.Workspace) (loss workspace.Loss, err error) {
	if !s.hasQuarantine(w) {
		return loss, nil
	}
	err = s.Guarded("look what the sandbox of workspace "+w.ID+" holds", func() (err error) {
		loss, err = s.quarantine(w).Holds(ctx)
		return err
	})
	return loss, err
}

// dropQuarantine removes the private git directory of a deleted workspace, unless it holds
// something that is nowhere else: then a restore goes on with it. err is why not all of it
// that an import brings is in the repository, or nil. The warning says where it stays if
// there is more to say than that a restore brings it back.
func (s *App) dropQuarantine(ctx context.Context, w workspace.Workspace, err error, lost workspace.Loss) (warning string) {
	if !s.hasQuarantine(w) {
		return ""
	}
	if err == nil && lost.Sandboxed && !lost.Restorable {
		err = errors.New("there is no snapshot of the workspace")
	} else if err == nil && !lost.Sandboxed {
		err = s.quarantine(w).Remove(ctx, true)
	}
	if err == nil {
		return ""
	}
	s.Log.Warn("keep the private git directory of a deleted workspace", "workspace", w.ID, "error", err)
	return "what its sandbox held is kept in " + s.Dirs.Quarantine(w.ID) + ": " + s.redact(oneLine(err))
}

// policies returns those of the sandboxed sessions of w, and that of the session that asked
// for w as the workspace of a worker.
func (s *App) policies(ctx context.Context, w workspace.Workspace) (list []sandbox.Policy, err error) {
	rows, _, err := s.Store.Sessions(ctx, w.ID, store.Page{Limit: -1})
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for _, row := range rows {
		if row.Sandbox != nil {
			ids = append(ids, row.ID)
		}
	}
	if w.ParentSession != "" {
		ids = append(ids, w.ParentSession)
	}
	for _, id := range ids {
		p, err := s.maker().Read(id)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it has no sandbox, or is forgotten
			continue
		case err != nil:
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// What a sandboxed program has written outlives its session and the record of that. So
// does what it leaves running under Landlock, until the machine is restarted. Each
// directory that such a program could write to is recorded before the program is started,
// and the record stays when the workspace is deleted.

// private are our directories that sandboxed programs write to, each session to its own.
func (s *App) private() []string {
	return []string{canonical(s.Dirs.Sandbox("")), canonical(s.Dirs.Private("")), canonical(s.Dirs.Quarantine(""))}
}

// writes returns the directories that a policy lets a program change, outside of those
// that are private to its sandbox.
func (s *App) writes(p sandbox.Policy) (dirs []string) {
	dirs = append(slices.Clone(p.Writable), p.Temp)
	for _, b := range p.Binds {
		if b.Write {
			dirs = append(dirs, b.From)
		}
	}
	own := s.private()
	return slices.DeleteFunc(dirs, func(dir string) bool {
		return dir == "" || slices.ContainsFunc(own, func(own string) bool { return sandbox.Within(dir, own) })
	})
}

// longStart is longer than what lies between the record of what a session can write to and
// that of the session.
const longStart = time.Hour

// opens returns the directories that the program of a session may write to. Each has the
// identities that were recorded for it since the session began: a later session in the
// same directory renews the record. There is none from before identities were recorded.
func opens(row store.Session, p sandbox.Policy, exposed []store.Exposed) (list []ownpath.Open) {
	for _, dir := range slices.Concat(row.Sandbox.Writable, p.Writable, []string{row.Sandbox.Temp, p.Temp}) {
		list = append(list, ownpath.Open{Dir: dir})
		for _, e := range exposed {
			since := e.Session == row.ID || e.At.After(row.CreatedAt.Add(-longStart))
			if e.Path == dir && e.Method == string(row.Sandbox.Method) && since {
				list = append(list, ownpath.Open{Dir: dir, Which: e.Which})
			}
		}
	}
	return list
}

// programs are the executables besides our own that this server runs, by absolute paths.
func (s *App) programs() (paths []string) {
	for _, name := range []string{"git", "tmux", "bwrap", s.Support().Bubblewrap} {
		if path, err := exec.LookPath(name); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// expose records what the program of a session that is about to start can write to, and
// takes it out of the server's PATH.
func (s *App) expose(ctx context.Context, id string, w workspace.Workspace, p sandbox.Policy) error {
	var list []store.Exposed
	for _, dir := range s.writes(p) {
		list = append(list, store.Exposed{Path: dir, Method: string(p.Method), Which: dirid.Of(dir), Boot: s.Boot, Session: id, Workspace: w.Name, At: time.Now()})
	}
	if err := s.Store.Expose(ctx, list); err != nil {
		return err
	}
	return s.cleanPath(ctx)
}

// CleanPath takes out of the PATH of this process what sandboxed programs can write to,
// after it has forgotten the records that cannot matter any more. Call it before anything
// that starts a program.
func (s *App) CleanPath(ctx context.Context) error {
	if err := s.Store.SetBoot(ctx, s.Boot); err != nil {
		return err
	}
	list, err := s.Store.Exposed(ctx)
	if err != nil {
		return err
	}
	used := ownpath.Identities() // a directory may have been moved
	for _, e := range list {
		if _, err := os.Lstat(e.Path); e.Boot == s.Boot || !errors.Is(err, fs.ErrNotExist) || used[e.Which] {
			continue
		}
		if err := s.Store.ForgetExposed(ctx, e); err != nil {
			return err
		}
	}
	return s.cleanPath(ctx)
}

func (s *App) cleanPath(ctx context.Context) error {
	list, err := s.Store.Exposed(ctx)
	if err != nil {
		return err
	}
	var open []ownpath.Open
	for _, dir := range s.private() {
		open = append(open, ownpath.Open{Dir: dir, Who: "a session"})
	}
	for _, e := range list {
		open = append(open, ownpath.Open{Dir: e.Path, Which: e.Which, Who: s.whose(ctx, e)})
	}
	more, err := ownpath.Clean(open)
	for _, l := range more {
		s.Log.Warn("the server does without a directory of its PATH", "directory", l.Dir, "why", l.Why)
	}
	if err != nil {
		return fmt.Errorf("take what sandboxed programs can write to out of PATH: %w", err)
	}
	return nil
}

// whose names the session of a record.
func (s *App) whose(ctx context.Context, e store.Exposed) string {
	if row, err := s.Store.Session(ctx, e.Session); err == nil {
		return "session " + s.workspaceName(ctx, row.WorkspaceID) + "/" + row.Name
	}
	return fmt.Sprintf("session %s of workspace %s", e.Session, e.Workspace)
}
