package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/bundle"
	"middleman/internal/environ"
	"middleman/internal/grants"
	"middleman/internal/private"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// profiles tells plan where a profile may come from.
type profiles struct {
	// repository returns the profiles of the agreed configuration of the
	// session's repository. It is only called for a name that is not known.
	repository func(ctx context.Context) (map[string]agent.Definition, error)
	// again is the session whose conversation is taken up again, and parent the one
	// that starts a worker, nil for none.
	again, parent *store.Session
	// given is what the host gives to the profile of a bundle, nil for another.
	given *grants.Given
}

// profilesOf is profiles.repository for a workspace that exists.
func (s *App) profilesOf(w workspace.Workspace) func(context.Context) (map[string]agent.Definition, error) {
	return func(ctx context.Context) (map[string]agent.Definition, error) {
		c, ok, err := s.agreed(ctx, w)
		if err != nil || !ok {
			return nil, err
		}
		return c.Profiles, nil
	}
}

// profilesIn is profiles.repository for a workspace that is asked for: it gets
// the configuration of the checkout that it is made from.
func (s *App) profilesIn(in api.NewWorkspace) func(context.Context) (map[string]agent.Definition, error) {
	return func(ctx context.Context) (map[string]agent.Definition, error) {
		if in.Mode != "" && in.Mode != workspace.ModeWorktree {
			return nil, nil
		}
		_, c, err := s.configIn(ctx, in.Directory)
		if err != nil || !c.usable() {
			return nil, err
		}
		return c.config.Profiles, nil
	}
}

// choose returns the command of a requested session and, if that comes from a
// profile, the profile. It sets in p what the profile decides, and lets only the
// allow-list pass to a profile's program.
func (s *App) choose(ctx context.Context, p *plan, in *api.NewSession, from *profiles) (profile agent.Profile, command []string, err error) {
	if in.Profile == "" || in.Profile == agent.Shell {
		// A program that a profile would start ends by the same keys.
		like := agent.Profiles(s.Profiles, nil).For("", in.Command)
		p.stopKeys, err = like.StopKeys()
		return agent.Profile{}, in.Command, err
	}
	profile, err = s.profileFor(ctx, p, in, from)
	if err != nil {
		return profile, nil, err
	}
	if p.grace, err = profile.StopGrace(); err != nil {
		return profile, nil, Refusef(api.CodeBadConfig, "profile %s: %s", profile.Name, err)
	}
	if p.stopKeys, err = profile.StopKeys(); err != nil {
		return profile, nil, Refusef(api.CodeBadConfig, "profile %s: %s", profile.Name, err)
	}
	p.profile, in.CleanEnv = profile.Name, true
	if profile.HasRules() {
		p.rules = profile.RulesOf()
	}
	p.hooks = profile.Inject(s.Executable)
	if from.again != nil {
		p.conversation = from.again.Conversation
		command, err = profile.Again(p.conversation, p.hooks.Args)
	} else {
		if profile.Identifies() {
			p.conversation = uuid.NewString()
		}
		command, err = profile.Launch(p.conversation, in.Prompt, p.hooks.Args)
	}
	if err != nil {
		return profile, nil, Refusef(api.CodeBadRequest, "%s", err)
	}
	return profile, command, nil
}

// profileFor returns the profile of a requested session. That of a bundle has what the
// host gives it.
func (s *App) profileFor(ctx context.Context, p *plan, in *api.NewSession, from *profiles) (agent.Profile, error) {
	if in.Bundle == nil && strings.Contains(in.Profile, "/") {
		return agent.Profile{}, bundle.Errorf(bundle.ErrMissing, "profile %s is one of a bundle: a launch names that bundle by its id and digest", in.Profile)
	}
	if in.Bundle == nil {
		profile, err := s.profile(ctx, in.Profile, *from)
		if err != nil || profile.Bundle == "" {
			if err == nil && len(in.Capabilities) > 0 {
				err = Refusef(api.CodeBadRequest, "profile %s belongs to no bundle, so it requests no capabilities", in.Profile)
			}
			return profile, err
		}
		if profile.Source == agent.Repository {
			return profile, Refusef(api.CodeBadConfig, "profile %s: a repository's profile may not name a bundle", profile.Name)
		}
		id, name, digest := profile.OfBundle()
		in.Bundle, in.Profile = &api.BundleRef{ID: id, Digest: digest}, name
	}
	return s.ofBundle(ctx, p, in, from)
}

// ofBundle decides what the profile of a bundle gets on this host.
func (s *App) ofBundle(ctx context.Context, p *plan, in *api.NewSession, from *profiles) (agent.Profile, error) {
	content, of, err := s.openProfile(ctx, *in.Bundle, in.Profile)
	if err != nil {
		return agent.Profile{}, err
	}
	profile := agent.Profile{Name: content.ID + "/" + in.Profile, Source: agent.Bundle, Definition: of.Definition()}
	if profile.Like == "" && agent.IsBuiltIn(in.Profile) {
		profile.Like = in.Profile
	}
	asked, err := content.Requested(of, in.Capabilities)
	if err != nil {
		return profile, err
	}
	policy, err := grants.Load(s.Dirs.Policy())
	if err != nil {
		return profile, Refusef(api.CodeBadConfig, "%s", s.redact(oneLine(err)))
	}
	level := s.level(in.Sandbox, profile, from.again)
	if parent := from.parent; parent != nil && parent.Sandbox != nil && level.Weaker(parent.Sandbox.Level) {
		level = parent.Sandbox.Level
	}
	given, err := grants.Decide(policy, grants.Request{ID: content.ID, Asked: asked, Level: level, Hosts: s.Sandbox.Network})
	if err != nil {
		return profile, err
	}
	resolver := grants.Resolver{Dir: s.Dirs.SecretFiles(), Command: policy.Secrets.Command, Environ: s.Login.Minimum()}
	if p.secrets, err = resolver.Variables(ctx, &given); err != nil {
		return profile, err
	}
	from.given, in.Sandbox = &given, given.Level
	p.bundle = &bundle.Launched{ID: content.ID, Revision: content.Revision, Digest: in.Bundle.Digest, Profile: in.Profile, Grants: given.Grants}
	p.mounts, p.note = given.Variables(s.maker().Home), joinNotes(p.note, given.Note())
	profile.Env, profile.Approvals, profile.Writable = given.Env, given.Approvals, given.Writable()
	if given.Login {
		profile.Directories = agent.Profiles(nil, nil)[profile.RulesOf()].Directories
	}
	return profile, nil
}

// openProfile returns the content of a bundle, and one of its profiles.
func (s *App) openProfile(ctx context.Context, ref api.BundleRef, name string) (bundle.Bundle, bundle.Profile, error) {
	if ref.Digest == "" {
		return bundle.Bundle{}, bundle.Profile{}, bundle.Errorf(bundle.ErrDigest, "a launch names bundle %s by its digest", ref.ID)
	}
	content, err := s.Bundles.Open(ctx, ref.ID, ref.Digest)
	if err != nil {
		return content, bundle.Profile{}, err
	}
	of, err := content.Profile(name)
	return content, of, err
}

// profileOf returns the profile of a session, for its rules. The zero Profile knows
// nothing.
func (s *App) profileOf(ctx context.Context, row store.Session) agent.Profile {
	if row.Bundle == nil {
		return agent.Profiles(s.Profiles, nil).For(row.Profile, row.Argv)
	}
	_, of, err := s.openProfile(ctx, api.BundleRef{ID: row.Bundle.ID, Digest: row.Bundle.Digest}, row.Bundle.Profile)
	if err != nil {
		s.Log.Warn("read the bundle of a session", "session", row.ID, "error", err)
		return agent.Profile{}
	}
	profile := agent.Profile{Name: row.Profile, Source: agent.Bundle, Definition: of.Definition()}
	if profile.Like == "" && agent.IsBuiltIn(row.Bundle.Profile) {
		profile.Like = row.Bundle.Profile
	}
	return profile
}

// profileOfProgram returns the profile that starts a program of that name, if any does.
func (s *App) profileOfProgram(name string) agent.Profile {
	return agent.Profiles(s.Profiles, nil).For("", []string{name})
}

// placeHooks writes the files that an injection needs for one session, and leads
// the program to them. note says if the user's own setting stays instead.
func (s *App) placeHooks(id string, in agent.Injection, env *environ.Environment) (note string, err error) {
	if in.Variable == "" {
		return "", nil
	}
	if env.Lookup(in.Variable) != "" {
		return "it reports no status, because " + in.Variable + " is set", nil
	}
	if in.Hidden != "" {
		if _, err := os.Lstat(in.Hidden); !errors.Is(err, fs.ErrNotExist) {
			return "it reports no status, because there is " + in.Hidden, nil
		}
	}
	dir := s.Dirs.Hooks(id)
	for name, data := range in.Files {
		file := filepath.Join(dir, name)
		if err := private.MakeDir(filepath.Dir(file)); err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
		if err := private.Replace(file, data, private.ThisBoot); err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
	}
	env.Set(environ.Own, in.Variable+"="+filepath.Join(dir, in.Path))
	return "", nil
}

// removeHooks removes what placeHooks has written for a session that has ended, and
// the temporary files of its sandbox. The next server removes what it cannot of the
// hooks; the rest goes with the session's record.
func (s *App) removeHooks(id string) {
	if err := os.RemoveAll(s.Dirs.Hooks(id)); err != nil {
		s.Log.Warn("remove the hooks of a session", "session", id, "error", err)
	}
	if err := s.maker().RemoveTemp(id); err != nil {
		s.Log.Warn("remove the temporary files of a session", "session", id, "error", err)
	}
}

// sweepHooks removes the files for hooks of sessions that have ended, or that
// have no row, because no server was there at their end.
func (s *App) sweepHooks(ctx context.Context) {
	for _, id := range s.former.hooks {
		row, err := s.Store.Session(ctx, id)
		if errors.Is(err, store.ErrNotFound) || err == nil && row.State.Ended() {
			s.removeHooks(id)
		}
	}
}

// profile returns the profile of that name.
func (s *App) profile(ctx context.Context, name string, from profiles) (agent.Profile, error) {
	if p, ok := agent.Profiles(s.Profiles, nil)[name]; ok {
		return p, nil
	}
	var repository map[string]agent.Definition
	if from.repository != nil {
		var err error
		if repository, err = from.repository(ctx); err != nil {
			return agent.Profile{}, err
		}
	}
	p, ok := agent.Profiles(s.Profiles, repository)[name]
	if !ok {
		return agent.Profile{}, Refusef(api.CodeNotFound, "there is no profile %q: `middleman profile list` lists them; one that was added to the settings after the server has started needs `middleman server restart`", name)
	}
	return p, nil
}

// ResumeSession starts the program of an ended session again, in the same
// workspace and on the same conversation, in a session of its own. in must name
// no command, profile or prompt.
func (s *App) ResumeSession(ctx context.Context, id string, in api.NewSession) (api.Session, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Session, error) { return s.resumeSession(ctx, id, in) })
}

func (s *App) resumeSession(ctx context.Context, id string, in api.NewSession) (api.Session, error) {
	if len(in.Command) > 0 || in.Profile != "" || in.Prompt != "" {
		return api.Session{}, Refusef(api.CodeBadRequest, "a session is resumed by its own profile: give no command, profile or prompt")
	}
	row, err := s.Store.Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		if _, err := s.Store.Transcript(ctx, id); err == nil {
			return api.Session{}, Refusef(api.CodeMissing, "the workspace of session %s is deleted: restore it first", id)
		}
	}
	if err != nil {
		return api.Session{}, err
	}
	view := s.sessionView(ctx, row, "")
	switch {
	case row.Profile == "":
		return api.Session{}, Refusef(api.CodeBadRequest, "session %s ran a shell or a command, which keeps no conversation to take up again: start it anew by `middleman run %s`, with the command after --",
			row.Name, s.workspaceName(ctx, row.WorkspaceID))
	case view.State == terminal.StateUnreachable:
		return api.Session{}, Refusef(api.CodeUnreachable, "session %s does not answer, so it is not known whether its program still runs", row.Name)
	case !view.State.Ended():
		return api.Session{}, Refusef(api.CodeBusy, "session %s is %s: attach to it instead", row.Name, view.State)
	}
	if err := s.alreadyGoesOn(ctx, row); err != nil {
		return api.Session{}, err
	}
	in.Backend = cmp.Or(in.Backend, s.sameBackend(ctx, row))
	in.Profile = row.Profile
	if b := row.Bundle; b != nil {
		in.Profile, in.Bundle = b.Profile, &api.BundleRef{ID: b.ID, Digest: b.Digest}
	}
	status, err := s.status(ctx, row) // an ended session's view has no rules
	if err != nil && !errors.Is(err, terminal.ErrNotFound) {
		return api.Session{}, fmt.Errorf("read the rules of session %s, with which it goes on: %w", row.Name, err)
	}
	in.Clipboard = cmp.Or(in.Clipboard, status.Clipboard)
	if in.KeepOutput == nil {
		in.KeepOutput = status.JournalBytes
	}
	resumed, err := s.startLike(ctx, row.WorkspaceID, in, &row)
	return s.inPlaceOf(ctx, row.ID, resumed, err)
}

// sameBackend returns the backend of a session that has ended, if it must be named for
// another one to have it too, and can host one now; else "".
func (s *App) sameBackend(ctx context.Context, row store.Session) string {
	b, err := s.backend(row)
	if err != nil || b.Usable(ctx) != nil {
		return ""
	}
	if chosen, _, err := s.chooseBackend(ctx, ""); err == nil && chosen.Name() == row.Backend {
		return "" // by default, and then another may host it where that one fails
	}
	return row.Backend
}

// alreadyGoesOn returns an error if another session has taken up the conversation of one
// that has ended: two agents would write one history.
func (s *App) alreadyGoesOn(ctx context.Context, row store.Session) error {
	if row.Conversation == "" {
		return nil
	}
	rows, _, err := s.Store.Sessions(ctx, row.WorkspaceID, store.Page{Limit: -1})
	if err != nil {
		return err
	}
	for _, other := range rows {
		if other.ID != row.ID && other.Profile == row.Profile && other.Conversation == row.Conversation && !other.State.Ended() {
			return Refusef(api.CodeBusy, "the conversation of session %s goes on in session %s: attach to that instead", row.Name, other.Name)
		}
	}
	return nil
}

// Prompt sends a text to a session's program and submits it, as agent.Send does. Other
// prompts, and inputs that come by the server, go before or after it, never between its
// paste and its submit key. If when is set, Prompt first waits until the program is
// idle, for at most so long; then the error is a *Refusal with api.CodeTimeout.
func (s *App) Prompt(ctx context.Context, id string, in agent.Prompt, when time.Duration) (api.Prompted, error) {
	if err := agent.CheckPrompt(in.Text); err != nil {
		return api.Prompted{}, Refusef(api.CodeBadRequest, "%s", err)
	}
	row, err := s.Store.Session(ctx, id)
	if err != nil {
		return api.Prompted{}, err
	}
	b, err := s.backend(row)
	if err != nil {
		return api.Prompted{}, err
	}
	leave, err := s.promptTurn(ctx, id, in.Answer, when)
	if err != nil {
		return api.Prompted{}, err
	}
	if !in.Answer {
		// A hook tells of a dialog before it is drawn.
		now, err := s.AgentStatus(ctx, id)
		if err == nil && now.Asks() {
			err = dialogShows(now.Status)
		}
		if err != nil {
			leave()
			return api.Prompted{}, err
		}
	}
	profile := s.profileNow(ctx, row, s.tracked(ctx, row))
	var out api.Prompted
	err = s.Guarded("send a prompt to session "+id, func() (err error) {
		out.Offset, err = s.sendPrompt(ctx, b.Session(id), profile, in, leave)
		return err
	})
	return out, err
}

const (
	// turnWait is how long a prompt waits until others have been typed: more than
	// one prompt takes.
	turnWait = 20 * time.Second
	// promptTime bounds what a prompt does with its session.
	promptTime = 30 * time.Second
)

// promptTurn is InputTurn for a prompt. If when is set, the program is idle when it
// returns, for which it waits at most so long.
func (s *App) promptTurn(ctx context.Context, id string, answer bool, when time.Duration) (leave func(), err error) {
	for began := time.Now(); ; {
		if when > 0 {
			if err := s.awaitIdle(ctx, id, answer, when-time.Since(began)); err != nil {
				return nil, err
			}
		}
		late := Refusef(api.CodeBusy, "nothing was typed: another input has been typed into the session for %s, and its program does not read it", turnWait)
		limited, cancel := context.WithTimeoutCause(ctx, turnWait, late)
		leave, err := s.InputTurn(limited, id)
		cancel()
		if err != nil || when == 0 {
			return leave, err
		}
		now, err := s.AgentStatus(ctx, id)
		idle := false
		if err == nil {
			idle, err = takesPrompt(now, answer)
		}
		if idle && err == nil {
			return leave, nil
		}
		if leave(); err != nil {
			return nil, err
		}
	}
}

// sendPrompt sends a prompt whose turn it is. It goes on if ctx ends, so that a sender
// who leaves does not leave a text behind that is not submitted. leave is called when
// the program has drawn what came of it, or has had the time to do so.
func (s *App) sendPrompt(ctx context.Context, to terminal.Session, profile agent.Profile, in agent.Prompt, leave func()) (offset uint64, err error) {
	leaving := false // by itself
	defer func() {
		if !leaving {
			leave()
		}
	}()
	err = s.work.run(ctx, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, promptTime)
		defer cancel()
		offset, err = profile.Send(ctx, to, in)
		return err
	})
	if err == nil {
		leaving = s.watches.start(ctx, func(ctx context.Context) {
			defer leave()
			agent.AwaitDrawn(ctx, to, offset)
		})
	}
	return offset, err
}

func dialogShows(now agent.Status) error {
	return fmt.Errorf("%w: it is %s, and the text would answer that; answer it first, or pass --answer", agent.ErrDialog, now.Text())
}

// awaitIdle waits until the program of a session waits for its next prompt; with
// answer, also until it waits for an answer. It looks whenever the session has
// an event.
func (s *App) awaitIdle(ctx context.Context, id string, answer bool, limit time.Duration) error {
	timeout := time.After(limit)
	for {
		_, _, _, changed := s.Events.After(s.Events.Now())
		now, err := s.AgentStatus(ctx, id)
		if err != nil {
			return err
		}
		if idle, err := takesPrompt(now, answer); idle || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-timeout:
			return Refusef(api.CodeTimeout, "waited %s for it to be idle: it is %s", limit, now.Text())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// takesPrompt reports whether a program waits for its next prompt; with answer, also
// whether it waits for an answer. The error is for one that will not take a prompt.
func takesPrompt(now agent.Report, answer bool) (bool, error) {
	switch {
	case now.State == agent.Idle || now.State == agent.Waiting && (answer || now.Kind == agent.RateLimit):
		return true, nil // after a limit the next prompt is what goes on
	case now.State == agent.Waiting:
		return false, dialogShows(now.Status)
	case now.Ended():
		return false, fmt.Errorf("%w: its program is %s", terminal.ErrEnded, now.Text())
	}
	return false, nil
}
