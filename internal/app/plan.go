package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/bundle"
	"middleman/internal/environ"
	"middleman/internal/sandbox"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// plan is a requested session, checked as far as possible before anything is
// made.
type plan struct {
	// name is the requested name; "" means that launch chooses one. With suffix it
	// gets a number if it is taken.
	name    string
	suffix  bool
	backend terminal.Backend
	// next has the backends that "auto" tries if backend itself fails.
	next []terminal.Backend
	argv []string
	// profile is the profile's name, "" for the shell or a command, and
	// conversation the id of its program's conversation, "" if it is not known.
	profile, conversation string
	// rules names the built-in profile whose rules hold for the program's screens,
	// "" if there are none.
	rules string
	// hooks is how hooks reach the profile's program.
	hooks agent.Injection
	// grace is that of the profile, 0 for the default. stopKeys are the profile's.
	grace    time.Duration
	stopKeys terminal.StopKeys
	// env is the session's environment without what its workspace adds, and named
	// has the variables that were named for it, which win over those.
	env   environ.Environment
	named []string
	// agentLink asks for terminal.Spec.AgentLink.
	agentLink bool
	// note says what of the request could not be had, "" for nothing.
	note string
	size terminal.Size
	keep int64 // bytes of output to keep, 0 for all
	// clipboard is the session's policy.
	clipboard terminal.Clipboard
	// bundle is what the session keeps of its bundle, nil for none; mounts lead its
	// program to what it gets, and secrets are the variables with values of secrets.
	bundle          *bundle.Launched
	mounts, secrets []string
	// box is the session's sandbox.
	box box
	// Only for a worker: its session id, its parent's session id, and the
	// directory where it starts, "" for the default of its workspace.
	id, parent, dir string
}

// maxCells bounds a terminal's size each way.
const maxCells = 1000

var sessionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// plan checks the request and changes nothing.
func (s *App) plan(ctx context.Context, in api.NewSession, from profiles) (plan, error) {
	p := plan{name: in.Name, named: in.Env, size: in.Size, keep: s.JournalBytes, clipboard: cmp.Or(in.Clipboard, s.Clipboard, terminal.ClipboardAllow)}
	if in.KeepOutput != nil {
		p.keep = *in.KeepOutput
	}
	if p.size == (terminal.Size{}) {
		p.size = terminal.DefaultSize
	}
	switch {
	case p.keep < 0:
		return plan{}, Refusef(api.CodeBadRequest, "keep_output is %d: it must be 0 (keep all) or more", p.keep)
	case !p.clipboard.Known():
		return plan{}, Refusef(api.CodeBadRequest, "clipboard is %q: it must be allow, ask or deny", p.clipboard)
	case in.Profile != "" && len(in.Command) > 0:
		return plan{}, Refusef(api.CodeBadRequest, "give a profile or a command, not both")
	case in.Prompt != "" && (in.Profile == "" || in.Profile == agent.Shell):
		return plan{}, Refusef(api.CodeBadRequest, "a first prompt needs a profile that takes one")
	case p.size.Cols == 0 || p.size.Rows == 0 || p.size.Cols > maxCells || p.size.Rows > maxCells:
		return plan{}, Refusef(api.CodeBadRequest,
			"size %dx%d: columns and rows must be 1 to %d", p.size.Cols, p.size.Rows, maxCells)
	}
	if p.name != "" {
		if err := checkSessionName(p.name); err != nil {
			return plan{}, err
		}
	}
	if err := checkEnv(in.Env); err != nil {
		return plan{}, err
	}
	profile, command, err := s.choose(ctx, &p, &in, &from)
	if err != nil {
		return plan{}, err
	}
	if p.box, err = s.chooseBox(in.Sandbox, in.Network, profile, from); err != nil {
		return plan{}, err
	}
	in.CleanEnv = in.CleanEnv || p.box.on()
	note := p.note
	if p.env, p.note, err = s.sessionEnv(ctx, in, profile.Env); err != nil {
		return plan{}, err
	}
	p.note = joinNotes(note, p.note)
	p.agentLink = in.AgentLink && p.env.Source(terminal.AgentVariable) == environ.Caller
	if p.argv, err = s.argv(command, p.env); err != nil {
		return plan{}, err
	}
	p.backend, p.next, err = s.chooseBackend(ctx, in.Backend)
	return p, err
}

// argv returns command with an absolute path of its program, or the session's
// $SHELL for an empty command. It refuses a relative path, because that would
// name a file in the worktree, which is not trusted.
func (s *App) argv(command []string, env environ.Environment) ([]string, error) {
	if len(command) == 0 {
		shell := env.Lookup("SHELL")
		if !environ.IsProgram(shell) {
			shell = environ.Lookup(s.Login.Minimum(), "SHELL")
		}
		if s.LoginShell {
			return []string{shell, "-l"}, nil
		}
		return []string{shell}, nil
	}
	name := command[0]
	for _, arg := range command {
		if strings.ContainsRune(arg, 0) {
			return nil, Refusef(api.CodeBadRequest, "%s: an argument contains NUL", describeCommand(name))
		}
	}
	if !filepath.IsAbs(name) {
		if name == "" || strings.ContainsRune(name, filepath.Separator) || strings.ContainsRune(name, '/') {
			return nil, Refusef(api.CodeStartFailed,
				"%s: a relative path is not allowed: give an absolute path, or a name that is in PATH", describeCommand(name))
		}
		found, ok := environ.Find(name, env.Entries())
		if !ok {
			return nil, Refusef(api.CodeStartFailed, "%s: not found in PATH", describeCommand(name))
		}
		name = found
	} else if found, ok := environ.Program(name, env.Lookup("PATHEXT")); ok {
		name = found
	} else {
		return nil, Refusef(api.CodeStartFailed, "%s: not an executable file", describeCommand(name))
	}
	return append([]string{name}, command[1:]...), nil
}

// chooseBackend returns the backend with that name; "" means the default. For
// "auto" it returns the first usable backend, and in next all after that.
func (s *App) chooseBackend(ctx context.Context, name string) (b terminal.Backend, next []terminal.Backend, err error) {
	if name == "" {
		name = s.Backend
	}
	var reasons []error
	auto := name == "" || name == "auto"
	for i, b := range s.Backends {
		if !auto && name != b.Name() {
			continue
		}
		err := b.Usable(ctx)
		switch {
		case err == nil && auto:
			return b, s.Backends[i+1:], nil
		case err == nil:
			return b, nil, nil
		}
		reasons = append(reasons, fmt.Errorf("%s: %w", b.Name(), err))
	}
	if len(reasons) == 0 {
		return nil, nil, Refusef(api.CodeUnsupported, "there is no backend %q here", name)
	}
	return nil, nil, Refusef(api.CodeUnsupported,
		"no session can be started: %s", s.redact(errors.Join(reasons...).Error()))
}

// backend returns the backend that a row's session was started with.
func (s *App) backend(row store.Session) (terminal.Backend, error) {
	for _, b := range s.Backends {
		if b.Name() == row.Backend {
			return b, nil
		}
	}
	return nil, fmt.Errorf("session %s uses backend %s, which this server does not have: %w", row.ID, row.Backend, terminal.ErrUnreachable)
}

// shownArgv returns the command as the user knows it: without the arguments by
// which hooks go in, which may have several KB.
func (p plan) shownArgv() []string {
	n := len(p.hooks.Args)
	for i := range len(p.argv) - n + 1 {
		if n > 0 && slices.Equal(p.argv[i:i+n], p.hooks.Args) {
			return slices.Delete(slices.Clone(p.argv), i, i+n)
		}
	}
	return p.argv
}

// spec returns the specification of the session for the backend, and what its sandbox
// does, nil for none. note says what of the plan cannot be had, "" for nothing.
func (s *App) spec(ctx context.Context, id string, w workspace.Workspace, p plan) (spec terminal.Spec, applied *sandbox.Applied, note string, err error) {
	dir := cmp.Or(p.dir, w.Path())
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return spec, nil, "", fmt.Errorf("%w: %s", workspace.ErrMissing, dir)
	}
	repoEnv, err := s.repoEnv(ctx, w)
	if err != nil {
		return spec, nil, "", err
	}
	env := p.env.Clone()
	addWorkspaceEnv(&env, repoEnv, w)
	env.Set(environ.Own, p.mounts...)
	env.Set(environ.Secret, p.secrets...)
	env.Set(environ.Named, p.named...)
	if note, err = s.placeHooks(id, p.hooks, &env); err != nil {
		return spec, nil, "", fmt.Errorf("write the hooks of profile %s: %w", p.profile, err)
	}
	var wrapper []string
	if p.box.on() {
		p.box.state = s.stateDir(id)
		made, err := s.confine(ctx, id, w, p.box, dir, p.argv[0], &env)
		if err != nil {
			s.cleanUp(id)
			return spec, nil, "", err
		}
		wrapper, applied, note = made.Wrapper, &made.Applied, joinNotes(append(made.Notes, note)...)
	}
	return terminal.Spec{
		ID:           id,
		Workspace:    w.ID,
		Argv:         p.argv,
		Wrapper:      wrapper,
		Env:          env.Entries(),
		Sources:      env.Sources(),
		AgentLink:    p.agentLink,
		Dir:          dir,
		Size:         p.size,
		Grace:        cmp.Or(p.grace, s.Grace),
		StopKeys:     p.stopKeys,
		JournalBytes: p.keep,
		Clipboard:    p.clipboard,
	}, applied, note, nil
}

// ListProfiles returns what a session can be started with by its name, besides the
// shell: the built-in profiles and the user's.
func (s *App) ListProfiles(ctx context.Context) (api.Profiles, error) {
	return s.listProfiles(ctx, nil)
}

// ListWorkspaceProfiles is ListProfiles for a workspace. It has those of the
// repository's agreed configuration too.
func (s *App) ListWorkspaceProfiles(ctx context.Context, id string) (api.Profiles, error) {
	w, err := s.Store.Workspace(ctx, id)
	if err != nil {
		return api.Profiles{}, err
	}
	repository, err := s.profilesOf(w)(ctx)
	if err != nil {
		return api.Profiles{}, err
	}
	return s.listProfiles(ctx, repository)
}

func (s *App) listProfiles(ctx context.Context, repository map[string]agent.Definition) (api.Profiles, error) {
	list := []api.Profile{}
	for _, p := range agent.Profiles(s.Profiles, repository).List() {
		if p.Name != agent.Shell {
			list = append(list, s.startable(ctx, p))
		}
	}
	return api.Profiles{Profiles: list}, context.Cause(ctx)
}

// startable describes a profile as a session with it would be started.
func (s *App) startable(ctx context.Context, p agent.Profile) api.Profile {
	v := api.Profile{Name: p.Name, Program: p.Program, Source: p.Source}
	if p.Bundle != "" {
		id, name, digest := p.OfBundle()
		_, of, err := s.openProfile(ctx, api.BundleRef{ID: id, Digest: digest}, name)
		if err != nil {
			v.Problem = s.redact(oneLine(err))
			return v
		}
		p = agent.Profile{Name: p.Name, Source: agent.Bundle, Definition: of.Definition()}
	}
	v.TakesPrompt, v.Sandbox = len(p.Prompt) > 0, s.level("", p, nil)
	env, _, err := s.sessionEnv(ctx, api.NewSession{CleanEnv: true}, p.Env)
	if err == nil {
		var argv []string
		if argv, err = s.argv(p.Command, env); err == nil {
			v.Path = argv[0]
			return v
		}
	}
	v.Problem = strings.TrimPrefix(s.redact(oneLine(err)), describeCommand(p.Command[0])+": ")
	return v
}
