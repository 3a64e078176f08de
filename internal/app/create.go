package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"middleman/internal/api"
	"middleman/internal/fault"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// answerWithin is how long a request waits for a creation before its answer is
// 202: long enough that bad input is refused at once.
const answerWithin = 5 * time.Second

// creation is a workspace that is being made.
type creation struct {
	row     workspace.Workspace
	request workspace.CreateRequest
	first   *plan // the first session, or nil
}

// createWorkspace begins a creation and returns its row once the workspace has
// its directory, or after answerWithin. Its files may come later. If nothing
// could be made, the row is deleted again and the error says why.
func (s *App) createWorkspace(ctx context.Context, in api.NewWorkspace) (workspace.Workspace, error) {
	if in.Name != "" && (in.Mode == "" || in.Mode == workspace.ModeWorktree || !strings.Contains(in.Name, "/")) {
		name, branch, err := workspace.Named(in.Name)
		if err != nil {
			return workspace.Workspace{}, err
		}
		in.Name, in.Branch, in.Suffix = name, cmp.Or(in.Branch, branch), in.Suffix || branch != ""
	}
	request, err := newRequest(in)
	if err != nil {
		return workspace.Workspace{}, err
	}
	if err := s.checkInPlace(request); err != nil {
		return workspace.Workspace{}, err
	}
	var first *plan
	if in.Session != nil {
		p, err := s.plan(ctx, *in.Session, profiles{repository: s.profilesIn(in)})
		if err != nil {
			return workspace.Workspace{}, err
		}
		first = &p
	}
	row, err := s.addWorkspace(ctx, &request, in)
	if err != nil {
		return workspace.Workspace{}, err
	}
	fault.Here("create/recorded")
	return s.begin(ctx, creation{row, request, first})
}

// checkInPlace refuses to make a workspace of our own state. A directory in a workspace
// may be one.
func (s *App) checkInPlace(r workspace.CreateRequest) error {
	if r.Mode != workspace.ModeInPlace {
		return nil
	}
	real, err := filepath.EvalSymlinks(r.Directory)
	if err != nil {
		return nil // Begin says it
	}
	if why := s.Dirs.LiesIn(real); why != "" && !s.Dirs.IsWorkspace(real, "") {
		return Refusef(api.CodeBadRequest, "the directory %s: use one of your own", strings.TrimPrefix(why, "which "))
	}
	return nil
}

// begin starts the rest of a creation whose row is stored, in the background.
func (s *App) begin(ctx context.Context, c creation) (workspace.Workspace, error) {
	s.publishWorkspace(ctx, c.row)
	made, left := make(chan error), make(chan struct{})
	defer close(left)
	if !s.further(ctx, c.row, func(ctx context.Context) { s.create(ctx, c, made, left) }) {
		return workspace.Workspace{}, errors.Join(ErrStopping, s.Store.DeleteWorkspace(ctx, c.row.ID))
	}
	var err error
	select {
	case err = <-made:
	case <-time.After(answerWithin):
	case <-ctx.Done():
	}
	if err != nil {
		s.uncreate(ctx, c.row)
		return workspace.Workspace{}, err
	}
	return s.Store.Workspace(ctx, c.row.ID)
}

// newRequest makes the request and checks what needs neither disk nor store.
func newRequest(in api.NewWorkspace) (workspace.CreateRequest, error) {
	r := workspace.CreateRequest{
		ID:        terminal.NewID("w"),
		Mode:      in.Mode,
		Directory: home(in.Directory),
		Base:      in.Base,
		Branch:    in.Branch,
		Location:  workspace.Location(in.Place),
		Filters:   in.Filters,
		Ephemeral: in.Ephemeral,
	}
	if r.Mode == "" {
		r.Mode = workspace.ModeWorktree
	}
	if in.Name == "" {
		return r, nil
	}
	var err error
	r.Name, err = workspace.Slug(in.Name)
	return r, err
}

// storedRequest is what is stored of a request for a workspace: all but the
// values of its first session's environment.
type storedRequest struct {
	api.NewWorkspace
	FromCaller bool     `json:"from_caller,omitempty"` // it had a caller's environment
	Named      []string `json:"named,omitempty"`       // the names in its env
}

// storable returns in without values of environment variables.
func storable(in api.NewWorkspace) storedRequest {
	stored := storedRequest{NewWorkspace: in}
	if in.Session == nil {
		return stored
	}
	session := *in.Session
	stored.FromCaller = session.CallerEnv != nil
	for _, entry := range session.Env {
		name, _, _ := strings.Cut(entry, "=")
		stored.Named = append(stored.Named, name)
	}
	session.Env, session.CallerEnv = nil, nil
	stored.Session = &session
	return stored
}

// plan plans the first session again, with the environment of who asks for that,
// nil if a start of the server does. The plan's note names what was not kept.
func (r storedRequest) plan(ctx context.Context, s *App, again api.Retry) (plan, error) {
	session, callerEnv := *r.Session, again.CallerEnv
	session.Sandbox = cmp.Or(again.Sandbox, session.Sandbox)
	if r.FromCaller {
		session.CallerEnv = callerEnv
	}
	p, err := s.plan(ctx, session, profiles{repository: s.profilesIn(r.NewWorkspace)})
	if err != nil {
		return p, err
	}
	if r.FromCaller && callerEnv == nil {
		p.note = joinNotes(p.note, "its caller's environment was not kept: it has that of a login")
	}
	missing := slices.DeleteFunc(slices.Clone(r.Named), func(name string) bool { return p.env.Source(name) != "" })
	if len(missing) > 0 {
		p.note = joinNotes(p.note, "values given with --env were not kept, so it has no "+strings.Join(missing, ", "))
	}
	return p, nil
}

// addWorkspace finds the repository of a creation, and stores its row, under the
// requested name or a random one, which it sets in r. in is stored beside it, for
// a retry.
func (s *App) addWorkspace(ctx context.Context, r *workspace.CreateRequest, in api.NewWorkspace) (workspace.Workspace, error) {
	located, top, gitDir, err := s.Workspaces.Locate(ctx, *r)
	if err != nil {
		return workspace.Workspace{}, err
	}
	*r = located
	baseDir := ""
	if filepath.IsAbs(string(r.Location)) {
		baseDir = string(r.Location)
	}
	row := workspace.Workspace{
		ID:         r.ID,
		Name:       r.Name,
		Mode:       r.Mode,
		Base:       r.Base,
		Branch:     r.Branch,
		Ephemeral:  r.Ephemeral,
		State:      workspace.StateCreating,
		Repository: top, // to undo it after a crash
		BaseDir:    baseDir,
		CreatedAt:  time.Now().UTC(),
	}
	asked, err := json.Marshal(storable(in))
	if err != nil {
		return row, fmt.Errorf("store the request for a workspace: %w", err)
	}
	if r.Parent != nil {
		row.Parent, row.ParentSession = r.Parent.ID, r.ParentSession
	}
	add := func(name string) error {
		row.Name, r.Name = name, name
		return s.Store.BeginCreation(ctx, row, gitDir, asked)
	}
	switch {
	case row.Name == "":
		err = numbered(randomName(), add)
	case in.Suffix:
		err = numbered(row.Name, add)
	default:
		if err = add(row.Name); errors.Is(err, store.ErrNameTaken) {
			err = s.refuseName(ctx, row)
		}
	}
	return row, err
}

// refuseName refuses a name that another workspace of the repository of w has.
func (s *App) refuseName(ctx context.Context, w workspace.Workspace) *Refusal {
	in := "in this repository"
	if w.Repository == "" {
		in = "outside repositories"
	}
	label := s.label(ctx, w)
	return Refusef(api.CodeNameTaken, "there is a workspace %s already %s: `middleman attach %s` goes there; choose another name, or let --suffix add a number",
		w.Name, in, label)
}

// create makes the workspace and the first session. It sends on made when the
// workspace has its directory: nil, or why nothing was made. If left is closed,
// nobody receives; then the row records the error.
func (s *App) create(ctx context.Context, c creation, made chan<- error, left <-chan struct{}) {
	w, err := s.place(ctx, c)
	if err != nil {
		s.Log.Info("workspace was not made", "workspace", c.row.Name, "error", err)
	}
	select {
	case made <- err:
	case <-left:
		if err != nil {
			s.failCreation(ctx, c.row, err)
		}
	}
	if err == nil {
		c.row = w
		s.finishCreation(ctx, c)
	}
}

// place makes the workspace's directory and records in the row where it is.
func (s *App) place(ctx context.Context, c creation) (workspace.Workspace, error) {
	var w workspace.Workspace
	var err error
	if c.request.Taken, err = s.Store.Roots(ctx); err != nil {
		return w, err
	}
	if c.request.Recorded, err = s.Store.IDsOf(ctx, c.row.Repository); err != nil {
		return w, err
	}
	c.request.Exposed = func(ctx context.Context, dir string) (string, error) { return s.takePlace(ctx, c.row.ID, dir) }
	defer s.placing.end(c.row.ID)
	err = s.Guarded("make workspace "+c.row.ID, func() (err error) {
		w, err = s.Workspaces.Begin(ctx, c.request, s.stages(ctx, c.row.ID))
		return err
	})
	if err != nil {
		return w, s.nameHolder(ctx, err)
	}
	fault.Here("create/begun")
	w.CreatedAt = c.row.CreatedAt
	if err := s.Store.UpdateWorkspace(context.WithoutCancel(ctx), w); err != nil {
		return w, err
	}
	s.publishWorkspace(ctx, w)
	fault.Here("create/placed")
	return w, nil
}

// nameHolder adds to the error of a creation which workspace has the branch that
// was asked for, or what else can be asked for if the user's own checkout has it.
func (s *App) nameHolder(ctx context.Context, err error) error {
	inUse, ok := errors.AsType[*workspace.BranchInUseError](err)
	if !ok {
		return err
	}
	rows, _, listErr := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	for _, row := range rows {
		if row.Root == inUse.Path {
			return Refusef(api.CodeBranchTaken, "%s; that is workspace %s: `middleman attach %s` goes there", s.redact(err.Error()), s.label(ctx, row), s.label(ctx, row))
		}
	}
	if inUse.Gone {
		return err
	}
	return Refusef(api.CodeBranchTaken, "%s; `--base %s` begins a new branch there, `--mode in-place` works in that directory", s.redact(err.Error()), inUse.Branch)
}

// finishCreation fills a workspace that has its directory, and starts the first
// session. A killed server or a failed attempt may have done some of the steps
// before, so each step may be repeated. If ctx ends because the server stops,
// the next server goes on with it.
func (s *App) finishCreation(ctx context.Context, c creation) {
	w, err := s.prepare(ctx, c)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.failCreation(ctx, w, err)
		return
	}
	if c.first != nil {
		s.firstSession(ctx, w, *c.first)
	}
	fault.Here("create/session")
	w.State = workspace.StateReady
	if err := s.Store.EndCreation(context.WithoutCancel(ctx), w.ID); err != nil {
		s.Log.Error("record that a workspace is ready", "workspace", w.ID, "error", err)
	}
	s.stage(ctx, w.ID, workspace.Stage{Name: "ready", State: "done", Detail: w.Root, Time: time.Now().UTC()})
	s.publishWorkspace(ctx, w)
}

// prepare does all that comes before the first session: the checkout, ports,
// copied files and setup.
func (s *App) prepare(ctx context.Context, c creation) (workspace.Workspace, error) {
	w, err := s.Workspaces.Checkout(ctx, c.request, c.row, s.stages(ctx, c.row.ID))
	if err != nil {
		return c.row, err
	}
	if err := s.Store.UpdateWorkspace(context.WithoutCancel(ctx), w); err != nil {
		return w, err
	}
	fault.Here("create/filled")
	return s.provision(ctx, w)
}

// failCreation records in the row why a creation failed.
func (s *App) failCreation(ctx context.Context, row workspace.Workspace, err error) {
	s.Log.Info("workspace is not whole", "workspace", row.Name, "error", err)
	row.State, row.Error = workspace.StateFailed, s.Explain(err).Detail
	s.setWorkspaceState(ctx, row)
}

// uncreate drops the row of a creation that has left nothing behind.
func (s *App) uncreate(ctx context.Context, row workspace.Workspace) {
	if err := s.Store.DeleteWorkspace(context.WithoutCancel(ctx), row.ID); err != nil {
		s.Log.Error("drop the row of a workspace that was not made", "workspace", row.ID, "error", err)
	}
	s.publishDeleted(ctx, row.ID)
}

// firstSession starts the session that was requested with the workspace, unless
// a row shows that it was tried before. One that did not start stays listed,
// with the reason.
func (s *App) firstSession(ctx context.Context, w workspace.Workspace, p plan) {
	if rows, _, err := s.Store.Sessions(ctx, w.ID, store.Page{Limit: 1}); err != nil || len(rows) > 0 {
		return
	}
	s.stage(ctx, w.ID, workspace.Stage{Name: "session", State: "running", Time: time.Now().UTC()})
	end := workspace.Stage{Name: "session", State: "done"}
	_, note, err := s.launch(ctx, w, p)
	if end.Detail = note; err != nil {
		end.State, end.Detail = "failed", s.Explain(err).Detail
	}
	end.Time = time.Now().UTC()
	s.stage(ctx, w.ID, end)
}

// randomName returns a name for a workspace whose user gave none.
func randomName() string {
	pick := func(list []string) string { return list[rand.IntN(len(list))] }
	return pick(adjectives) + "-" + pick(nouns)
}

var (
	adjectives = []string{
		"amber", "bold", "brave", "brisk", "bright", "calm", "clear", "clever", "cosy", "crisp", "eager", "early",
		"fair", "fleet", "fresh", "gentle", "golden", "grand", "happy", "keen", "kind", "late", "light", "lively",
		"lucky", "mellow", "merry", "neat", "nimble", "noble", "proud", "quick", "quiet", "rapid", "ready", "silver",
		"sleek", "smart", "snug", "solid", "sunny", "swift", "tidy", "vivid", "warm", "wild", "wise", "witty",
	}
	nouns = []string{
		"alder", "aspen", "badger", "beech", "birch", "brook", "cedar", "cliff", "cloud", "comet", "coral", "crane",
		"creek", "dune", "eagle", "ember", "fern", "field", "finch", "fjord", "forest", "fox", "glade", "harbor",
		"hare", "hazel", "heron", "hill", "island", "lake", "larch", "lark", "maple", "meadow", "moss", "oak",
		"otter", "owl", "pine", "reef", "ridge", "river", "robin", "rowan", "spruce", "stone", "swan", "willow",
	}
)

// retryWorkspace tries a failed creation again, from the step that failed. It
// returns the row while that goes on in the background.
func (s *App) retryWorkspace(ctx context.Context, id string, in api.Retry) (workspace.Workspace, error) {
	leave := s.gates.block(id)
	defer leave()
	w, err := s.Store.Workspace(ctx, id)
	if err != nil {
		return w, err
	}
	c, err := s.failedCreation(ctx, w, in)
	if err != nil {
		return w, err
	}
	if !placed(w) {
		if err := s.Workspaces.Undo(ctx, w, false); err != nil {
			return w, err
		}
	}
	c.row.State, c.row.Error = workspace.StateCreating, ""
	s.setWorkspaceState(ctx, c.row)
	again := func(ctx context.Context) {
		if !placed(c.row) {
			row, err := s.place(ctx, c)
			if err != nil {
				s.failCreation(ctx, c.row, err)
				return
			}
			c.row = row
		}
		s.finishCreation(ctx, c)
	}
	if !s.further(ctx, c.row, again) {
		s.setWorkspaceState(ctx, w)
		return w, ErrStopping
	}
	return s.Store.Workspace(ctx, id)
}

// failedCreation returns the request that w was made by, if its creation failed.
// again is for storedRequest.plan.
func (s *App) failedCreation(ctx context.Context, w workspace.Workspace, again api.Retry) (creation, error) {
	refuse := func(code, why string) (creation, error) {
		return creation{}, Refusef(code, "workspace %s %s", s.label(ctx, w), why)
	}
	switch {
	case w.State == workspace.StateCreating, w.State == workspace.StateRestoring, w.State == workspace.StateDeleting:
		return refuse(api.CodeBusy, "is "+string(w.State)+" at the moment")
	case w.State != workspace.StateFailed:
		return refuse(api.CodeNotFailed, "is "+string(w.State)+": there is nothing to try again")
	case w.Parent != "":
		return refuse(api.CodeNotFailed, "belongs to a worker and cannot be tried again: the session that spawned it can spawn another, and `middleman rm` removes this one")
	}
	if _, err := s.Store.Creation(ctx, w.ID); errors.Is(err, store.ErrNotFound) {
		return refuse(api.CodeNotFailed, "was made, and a later step failed: "+s.redact(w.Error))
	}
	return s.creation(ctx, w, again)
}

// cutShort marks the last stage as failed if the previous server did not end it.
func (s *App) cutShort(ctx context.Context, workspaceID string) {
	list, err := s.Store.Stages(ctx, workspaceID)
	if err != nil || len(list) == 0 {
		return
	}
	if last := list[len(list)-1]; last.State == "running" {
		s.stage(ctx, workspaceID, workspace.Stage{Name: last.Name, State: "failed", Detail: "the server ended", Time: time.Now().UTC()})
	}
}

// home replaces a leading ~ by the user's home directory. Only the machine of the
// server knows that, and a request may come from another one.
func home(dir string) string {
	below, ok := strings.CutPrefix(dir, "~")
	if !ok || below != "" && below[0] != '/' {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return dir // it is refused as a path that is not absolute
	}
	return filepath.Join(home, below)
}
