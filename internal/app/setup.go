package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"middleman/internal/api"
	"middleman/internal/repoconfig"
	"middleman/internal/sandbox"
	"middleman/internal/setup"
	"middleman/internal/store"
	"middleman/workspace"
)

// setUpAgain applies the configuration that the user has just approved to a
// ready workspace: ports, copied files and setup. Sessions may be started
// meanwhile; a delete is refused. Also after an error the workspace stays ready.
func (s *App) setUpAgain(ctx context.Context, id string) (workspace.Workspace, error) {
	w, release, err := s.claim(ctx, id)
	if err != nil {
		return w, err
	}
	defer release()
	c, err := s.configOf(ctx, w)
	if err != nil {
		return w, err
	}
	if w, err = s.supply(ctx, w, c); err != nil {
		return w, err
	}
	w, err = s.setUp(ctx, w, c)
	s.publishWorkspace(ctx, w)
	return w, err
}

// claim keeps a ready workspace from being deleted until release is called. It
// refuses if a setup, merge or push of the workspace has a claim.
func (s *App) claim(ctx context.Context, id string) (w workspace.Workspace, release func(), err error) {
	leave, ok := s.gates.launch(id)
	if !ok {
		return w, nil, Refusef(api.CodeBusy, "the workspace is being deleted")
	}
	defer leave()
	if w, err = s.Store.Workspace(ctx, id); err != nil {
		return w, nil, err
	}
	if w.State != workspace.StateReady {
		return w, nil, Refusef(api.CodeBusy, "workspace %s is %s: it cannot be set up, merged or pushed", s.label(ctx, w), w.State)
	}
	if release, ok = s.settingUp.enter(id); !ok {
		return w, nil, Refusef(api.CodeBusy, "a setup, merge or push of workspace %s runs already", s.label(ctx, w))
	}
	return w, release, nil
}

// teardownOf returns the configuration whose teardown runs before w is deleted.
// That is the one in w's checkout if the user approved it, else the one that w
// was made with. It is empty if w was made without a configuration.
func (s *App) teardownOf(ctx context.Context, w workspace.Workspace) (repoconfig.Config, error) {
	if w.ConfigHash == "" || w.Mode != workspace.ModeWorktree {
		return repoconfig.Config{}, nil
	}
	if info, err := os.Lstat(w.Root); err != nil || !info.IsDir() {
		return repoconfig.Config{}, nil // there is nowhere to run them
	}
	if c, err := s.configOf(ctx, w); err == nil && c.usable() {
		return c.config, nil
	}
	c, _, err := s.agreed(ctx, w)
	return c, err
}

// tearDown runs the teardown of c. After an error w must not be deleted.
func (s *App) tearDown(ctx context.Context, w workspace.Workspace, c repoconfig.Config) error {
	if len(c.Teardown) == 0 {
		return nil
	}
	return s.runCommands(ctx, w, "teardown", c.Teardown, c)
}

// code returns the error code for clients.
func (e *setupError) code() string {
	switch e.stage {
	case "teardown":
		return api.CodeTeardown
	case "check":
		return api.CodeCheckFailed
	}
	return api.CodeSetupFailed
}

// provision gives a workspace that has its directory its ports, the ignored
// files to copy, and the setup of its repository if the user approved that. A
// creation calls it, and a retry calls it again: it does not repeat what is done.
// After an error the workspace keeps what it has.
func (s *App) provision(ctx context.Context, w workspace.Workspace) (workspace.Workspace, error) {
	c, err := s.configOf(ctx, w)
	if err != nil {
		return w, err
	}
	if w, err = s.supply(ctx, w, c); err != nil {
		return w, err
	}
	if why := passOver(s.shown(ctx, w), c); why != "" {
		s.stage(ctx, w.ID, workspace.Stage{Name: "setup", State: "done", Detail: workspace.Skipped + why, Time: time.Now().UTC()})
		return w, nil
	}
	return s.setUp(ctx, w, c)
}

// supply gives w its ports, and copies its files.
func (s *App) supply(ctx context.Context, w workspace.Workspace, c repoConfig) (_ workspace.Workspace, err error) {
	ports := s.Ports.Count
	if c.usable() && c.config.Ports != nil {
		ports = *c.config.Ports
	}
	if needsPorts(w, ports) {
		if w, err = s.givePorts(ctx, w, ports); err != nil {
			return w, err
		}
	}
	var patterns []string
	if c.usable() {
		patterns = c.config.Copy
	}
	return w, s.copyFiles(ctx, w, patterns)
}

// copyFiles copies what patterns name from the main checkout into w. A delete can end it.
func (s *App) copyFiles(ctx context.Context, w workspace.Workspace, patterns []string) error {
	r, err := s.copyRequest(ctx, w, patterns)
	if err != nil {
		return err
	}
	running, leave := s.setups.enter(ctx, w.ID)
	defer leave()
	err = s.Workspaces.Copy(running, w, r, s.stages(ctx, w.ID))
	if cause := context.Cause(running); err != nil && errors.Is(cause, errSetupEnded) {
		return Refusef(api.CodeSetupFailed, "copy files that git ignores into workspace %s: %s", w.Name, cause)
	}
	return err
}

// The server reads files without a sandbox, and what it copies into a workspace has another
// path there, at which no policy hides it. So it copies nothing that a sandbox hides. A
// program may have asked for the copy: by a worker, and by the list of what is copied
// (.worktreeinclude), which it writes where it works in the main checkout.

// copyRequest says what of the main checkout comes into w: what patterns name, but for what
// is hidden from its sessions or from the one that asked for it, and what is hidden from
// every sandboxed session. A session of w may be sandboxed later.
func (s *App) copyRequest(ctx context.Context, w workspace.Workspace, patterns []string) (workspace.CopyRequest, error) {
	policies, err := s.policies(ctx, w)
	if err != nil {
		return workspace.CopyRequest{}, err
	}
	r := workspace.CopyRequest{Patterns: patterns}
	for _, p := range policies {
		if p.Session == w.ParentSession {
			r.FileBytes = p.Limits.Files
		}
	}
	usual := sync.OnceValues(func() (sandbox.Policy, error) {
		main := canonical(w.Repository)
		if s.Dirs.IsWorkspace(main, "") { // our own data is hidden, but for the workspaces in it
			return s.maker().Usual(main)
		}
		return s.maker().Usual()
	})
	r.Hides = func(path string) (by string, err error) {
		p, err := usual()
		for _, p := range append(policies, p) {
			by = cmp.Or(by, p.Hides(path))
		}
		return by, err
	}
	return r, nil
}

// passOver returns the reason why a configuration is not used, or "".
func passOver(w workspace.Workspace, c repoConfig) string {
	switch {
	case c.content == nil:
		return ""
	case c.wrong != nil:
		return repoconfig.Name + " is not used: " + c.wrong.Error()
	case !c.trusted:
		return fmt.Sprintf("%s is not trusted, so it was not used: `middleman trust %s --setup` shows it, and runs it if you agree",
			repoconfig.Name, w.Name)
	case w.Parent != "": // the parent's program may have written files that the commands run
		return fmt.Sprintf("a session asked for this workspace, not you: `middleman trust %s --setup` runs its setup", w.Name)
	}
	return ""
}

// setUp runs the setup commands of a configuration that the user approved,
// unless they have succeeded before. First it records the configuration's hash
// in w, so that a delete finds the teardown even if the setup fails.
func (s *App) setUp(ctx context.Context, w workspace.Workspace, c repoConfig) (workspace.Workspace, error) {
	if !c.usable() {
		return w, nil
	}
	last, _, err := s.Store.LastStage(ctx, w.ID, "setup")
	if err != nil || w.ConfigHash == c.hash && last.State == "done" {
		return w, err
	}
	w.ConfigHash = c.hash
	if err := s.Store.SetConfigHash(context.WithoutCancel(ctx), w.ID, w.ConfigHash); err != nil {
		return w, err
	}
	if len(c.config.Setup) == 0 {
		return w, nil
	}
	return w, s.runCommands(ctx, w, "setup", c.config.Setup, c.config)
}

// runCommands runs commands of the configuration c as the stage of that name.
func (s *App) runCommands(ctx context.Context, w workspace.Workspace, stage string, commands []string, c repoconfig.Config) error {
	env, err := s.setupEnv(ctx)
	if err != nil {
		return err
	}
	addWorkspaceEnv(&env, c.Environ(), w)
	wrapper, done, err := s.confineCommands(ctx, w, &env)
	if err != nil {
		return err
	}
	defer done()
	s.stage(ctx, w.ID, workspace.Stage{Name: stage, State: "running", Time: time.Now().UTC()})
	running, leave := s.setups.enter(ctx, w.ID)
	defer leave()
	last, err := setup.Run(running, setup.Spec{
		Commands: commands,
		Wrapper:  wrapper,
		Dir:      w.Root,
		Env:      env.Entries(),
		Mark:     setupMark(w.ID),
		Log:      s.Dirs.SetupLog(w.ID),
		Timeout:  s.SetupTimeout,
		Tell: func(line string) {
			s.stage(ctx, w.ID, workspace.Stage{Name: stage, State: "running", Detail: line, Time: time.Now().UTC()})
		},
	})
	end := workspace.Stage{Name: stage, State: "done", Detail: last, Time: time.Now().UTC()}
	if err != nil {
		err = &setupError{stage: stage, workspace: w.Name, last: last, err: err}
		end.State, end.Detail = "failed", err.Error()
	}
	s.stage(ctx, w.ID, end)
	return err
}

// setupMark returns the variable in the environment of all processes of a setup
// or teardown. They are found by it.
func setupMark(workspaceID string) string { return "MIDDLEMAN_SETUP=" + workspaceID }

// setupError is a setup or teardown that failed.
type setupError struct {
	stage, workspace string
	last             string // the last lines that were printed
	err              error
}

func (e *setupError) Error() string {
	text := fmt.Sprintf("%s of workspace %s: %v", e.stage, e.workspace, e.err)
	if e.last != "" {
		text += "; printed last: " + e.last
	}
	return text + fmt.Sprintf(" (`middleman logs %s --setup` has all of it)", e.workspace)
}

func (e *setupError) Unwrap() error { return e.err }

// endSetups ends the processes of setups, teardowns and checks that ran when the
// previous server ended, and marks their stages, and those of merges, as failed.
func (s *App) endSetups(ctx context.Context) error {
	running, err := s.Store.RunningStages(ctx, "setup", "teardown", "check", "merge")
	if err != nil {
		return err
	}
	for id, stage := range running {
		detail := "the server ended while this ran, and the processes that this had started were ended"
		if err := setup.End(setupMark(id)); err != nil {
			detail = "the server ended while this ran: " + err.Error()
		}
		s.stage(ctx, id, workspace.Stage{Name: stage, State: "failed", Detail: detail, Time: time.Now().UTC()})
	}
	return nil
}

// stages returns a function that records the stages of an operation.
func (s *App) stages(ctx context.Context, workspaceID string) workspace.Progress {
	return func(stage workspace.Stage) { s.stage(ctx, workspaceID, stage) }
}

// stage records and publishes the start, the progress or the end of a stage. A
// running stage with a detail is progress.
func (s *App) stage(ctx context.Context, workspaceID string, stage workspace.Stage) {
	stage.Detail = s.redact(stage.Detail)
	record := s.Store.AddStage
	if stage.State == "running" && stage.Detail != "" {
		record = s.Store.TellStage
	}
	if err := record(context.WithoutCancel(ctx), workspaceID, stage); err != nil {
		s.Log.Error("record a stage", "workspace", workspaceID, "stage", stage.Name, "error", err)
	}
	view := stageView(stage)
	s.Events.Publish(workspaceID, api.Event{Type: "stage", ID: workspaceID, Stage: &view})
}

// setWorkspaceState records w's state and error, and publishes w.
func (s *App) setWorkspaceState(ctx context.Context, w workspace.Workspace) {
	if err := s.Store.SetWorkspaceState(context.WithoutCancel(ctx), w.ID, w.State, w.Error); err != nil {
		s.Log.Error("record a workspace's state", "workspace", w.ID, "state", w.State, "error", err)
	}
	s.publishWorkspace(ctx, w)
}

// needsPorts reports whether w can have ports and has another number than count.
func needsPorts(w workspace.Workspace, count int) bool {
	return w.Mode != workspace.ModeInPlace && w.Ports != count
}

// givePorts gives w count ports, and records that as a stage. A count of 0 takes
// its ports away. If the range has no free ports, w gets none; the stage says
// so, and that is no error.
func (s *App) givePorts(ctx context.Context, w workspace.Workspace, count int) (workspace.Workspace, error) {
	stage := workspace.Stage{Name: "ports", State: "running", Time: time.Now().UTC()}
	s.stage(ctx, w.ID, stage)
	w, err := s.allocatePorts(ctx, w, count)
	switch {
	case errors.Is(err, store.ErrNoPorts):
		stage.State, stage.Detail, err = "done", workspace.Skipped+err.Error()+": delete a workspace, or widen [ports] of config.toml", nil
	case err != nil:
		stage.State, stage.Detail = "failed", err.Error()
	case w.Ports == 0:
		stage.State, stage.Detail = "done", "none"
	default:
		stage.State, stage.Detail = "done", fmt.Sprintf("%d-%d", w.Port, w.Port+w.Ports-1)
	}
	stage.Time = time.Now().UTC()
	s.stage(ctx, w.ID, stage)
	return w, err
}

// restorePorts gives a restored workspace the ports that it had before, or
// others if these are taken; then notes say so.
func (s *App) restorePorts(ctx context.Context, w workspace.Workspace) (_ workspace.Workspace, notes []string) {
	if w.Ports == 0 {
		return w, nil
	}
	had := w.Port
	w, err := s.allocatePorts(ctx, w, w.Ports)
	switch {
	case err != nil:
		s.Log.Warn("give a restored workspace its ports", "workspace", w.Name, "error", err)
		return w, []string{"other workspaces have its ports now, so it has none: " + s.Explain(err).Detail}
	case w.Port != had:
		return w, []string{fmt.Sprintf("other workspaces have its ports now, so it has %d-%d instead", w.Port, w.Port+w.Ports-1)}
	}
	return w, nil
}

// allocatePorts allocates count ports in the store and returns w with them. With
// store.ErrNoPorts w has no ports.
func (s *App) allocatePorts(ctx context.Context, w workspace.Workspace, count int) (workspace.Workspace, error) {
	r := s.Ports
	r.Count = count
	first, err := s.Store.AllocatePorts(context.WithoutCancel(ctx), w.ID, r, portFree)
	switch {
	case count == 0 && errors.Is(err, store.ErrNoPorts):
		w.Port, w.Ports, err = 0, 0, nil
	case errors.Is(err, store.ErrNoPorts):
		w.Port, w.Ports = 0, 0
	case err == nil:
		w.Port, w.Ports = first, count
	}
	return w, err
}

// portFree reports whether no process listens on a port. It tries both loopback
// addresses and the wildcard, because a listener on one address does not always
// conflict with the others.
func portFree(port int) bool {
	for _, host := range []string{"127.0.0.1", "::1", ""} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			err = l.Close()
		}
		// Other errors count for 127.0.0.1 only: a system may have no IPv6.
		if errors.Is(err, syscall.EADDRINUSE) || err != nil && host == "127.0.0.1" {
			return false
		}
	}
	return true
}
