package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"middleman/internal/api"
	"middleman/internal/repoconfig"
	"middleman/internal/setup"
	"middleman/internal/store"
	"middleman/workspace"
)

// setUpAgain gives a workspace that is ready what its configuration, to which
// the user has just agreed, says. Sessions may be started meanwhile; a delete
// is refused. Whatever becomes of it, the workspace stays ready.
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
	s.publishWorkspace(w)
	return w, err
}

// claim keeps a workspace that is ready from being deleted until release is
// called. Nobody else has a claim on it.
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
		return w, nil, Refusef(api.CodeBusy, "workspace %s is %s: no setup can be run in it", w.Name, w.State)
	}
	if release, ok = s.settingUp.enter(id); !ok {
		return w, nil, Refusef(api.CodeBusy, "the setup of workspace %s runs already", w.Name)
	}
	return w, release, nil
}

// teardownOf are the commands to be run before w is deleted, none where it was
// made without the configuration: those of its checkout where the user agreed
// to them, else those that it was made with.
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

// tearDown runs them. One that fails is a reason not to delete w.
func (s *App) tearDown(ctx context.Context, w workspace.Workspace, c repoconfig.Config) error {
	if len(c.Teardown) == 0 {
		return nil
	}
	return s.runCommands(ctx, w, "teardown", c.Teardown, c)
}

// code is the problem's that a client is told.
func (e *setupError) code() string {
	if e.stage == "teardown" {
		return api.CodeTeardown
	}
	return api.CodeSetupFailed
}

// provision gives a workspace whose directory is there what it lacks of its
// ports, the files that git ignores, and the setup that its repository asks
// for, as far as the user agreed to that. It is called by a creation, and again
// by a retry: what is done already is not done twice. On an error the workspace
// keeps what it has got.
func (s *App) provision(ctx context.Context, w workspace.Workspace) (workspace.Workspace, error) {
	c, err := s.configOf(ctx, w)
	if err != nil {
		return w, err
	}
	if w, err = s.supply(ctx, w, c); err != nil {
		return w, err
	}
	if why := passOver(w, c); why != "" {
		s.stage(ctx, w.ID, workspace.Stage{Name: "setup", State: "done", Detail: workspace.Skipped + why, Time: time.Now().UTC()})
		return w, nil
	}
	return s.setUp(ctx, w, c)
}

// supply gives w its ports and files.
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
	return w, s.Workspaces.Copy(ctx, w, patterns, func(stage workspace.Stage) { s.stage(ctx, w.ID, stage) })
}

// passOver is why nothing of a configuration is used, or "".
func passOver(w workspace.Workspace, c repoConfig) string {
	switch {
	case c.content == nil:
		return ""
	case c.wrong != nil:
		return "nothing of it is used: " + c.wrong.Error()
	case !c.trusted:
		return fmt.Sprintf("%s is not trusted, so nothing of it was used: `middleman trust %s --setup` shows it, and runs it if you agree",
			repoconfig.Name, w.Name)
	case w.Parent != "": // whose program may have written what the commands run
		return fmt.Sprintf("a session asked for this workspace, not you: `middleman trust %s --setup` runs its setup", w.Name)
	}
	return ""
}

// setUp runs the setup commands of a configuration that the user agreed to,
// once. It records what w is made with before that, so that a delete knows of
// it whatever becomes of this.
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

// runCommands runs commands of the configuration as a stage of that name.
func (s *App) runCommands(ctx context.Context, w workspace.Workspace, stage string, commands []string, c repoconfig.Config) error {
	s.stage(ctx, w.ID, workspace.Stage{Name: stage, State: "running", Time: time.Now().UTC()})
	running, leave := s.setups.enter(ctx, w.ID)
	defer leave()
	last, err := setup.Run(running, setup.Spec{
		Commands: commands,
		Dir:      w.Root,
		Env:      mergeEnv(baseEnv(s.Environ()), c.Environ(), w.Env()),
		Mark:     setupMark(w.ID),
		Log:      s.Dirs.SetupLog(w.ID),
		Timeout:  s.SetupTimeout,
	})
	end := workspace.Stage{Name: stage, State: "done", Detail: last, Time: time.Now().UTC()}
	if err != nil {
		err = &setupError{stage: stage, workspace: w.Name, last: last, err: err}
		end.State, end.Detail = "failed", err.Error()
	}
	s.stage(ctx, w.ID, end)
	return err
}

// setupMark is in the environment of what setup and teardown start.
func setupMark(workspaceID string) string { return "MIDDLEMAN_SETUP=" + workspaceID }

// setupError is a setup or teardown that failed.
type setupError struct {
	stage, workspace string
	last             string // what was printed last
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

// endSetups ends what the setups and teardowns have left that the server before
// did not see the end of, and says so in their stages.
func (s *App) endSetups(ctx context.Context) error {
	running, err := s.Store.RunningStages(ctx, "setup", "teardown")
	if err != nil {
		return err
	}
	for id, stage := range running {
		detail := "the server ended while this ran, and so did what it had started"
		if err := setup.End(setupMark(id)); err != nil {
			detail = "the server ended while this ran: " + err.Error()
		}
		s.stage(ctx, id, workspace.Stage{Name: stage, State: "failed", Detail: detail, Time: time.Now().UTC()})
	}
	return nil
}

// stages records the stages of what is done to a workspace.
func (s *App) stages(ctx context.Context, workspaceID string) workspace.Progress {
	return func(stage workspace.Stage) { s.stage(ctx, workspaceID, stage) }
}

// stage records a stage, or how far one is, and tells everybody.
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

// setWorkspaceState records w's state and error and tells everybody.
func (s *App) setWorkspaceState(ctx context.Context, w workspace.Workspace) {
	if err := s.Store.SetWorkspaceState(context.WithoutCancel(ctx), w.ID, w.State, w.Error); err != nil {
		s.Log.Error("record a workspace's state", "workspace", w.ID, "state", w.State, "error", err)
	}
	s.publishWorkspace(w)
}

// needsPorts is whether w is a workspace that gets count ports and has not.
func needsPorts(w workspace.Workspace, count int) bool {
	return w.Mode != workspace.ModeInPlace && w.Ports != count
}

// givePorts gives w count ports as a stage, or takes away what it has where
// that is 0. A range without free ones is no reason to be without a workspace:
// it is said.
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

// restorePorts gives a restored workspace the ports that it had, or others
// where these are somebody's by now; notes say so.
func (s *App) restorePorts(ctx context.Context, w workspace.Workspace) (_ workspace.Workspace, notes []string) {
	if w.Ports == 0 {
		return w, nil
	}
	had := w.Port
	w, err := s.allocatePorts(ctx, w, w.Ports)
	switch {
	case err != nil:
		s.Log.Warn("give a restored workspace its ports", "workspace", w.Name, "error", err)
		return w, []string{"its ports are somebody else's by now, and it has none: " + s.Explain(err).Detail}
	case w.Port != had:
		return w, []string{fmt.Sprintf("its ports are somebody else's by now: it has %d-%d", w.Port, w.Port+w.Ports-1)}
	}
	return w, nil
}

// allocatePorts is w with the ports that the store now says are its own. They
// are none beside store.ErrNoPorts.
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

// portFree reports whether nobody listens on a port, on any address: a
// listener on one alone does not keep others from each of these.
func portFree(port int) bool {
	for _, host := range []string{"127.0.0.1", "::1", ""} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			err = l.Close()
		}
		// Of other errors the first address must be without; a system may have
		// no IPv6.
		if errors.Is(err, syscall.EADDRINUSE) || err != nil && host == "127.0.0.1" {
			return false
		}
	}
	return true
}
