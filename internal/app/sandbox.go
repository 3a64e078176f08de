package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/confine"
	"middleman/internal/egress"
	"middleman/internal/environ"
	"middleman/internal/grants"
	"middleman/internal/sandbox"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// box is the sandbox of a planned session.
type box struct {
	level   sandbox.Level
	method  sandbox.Method
	network []string // the network list, nil for none
	profile agent.Profile
	parent  *sandbox.Policy // of the session that starts it as a worker, if that has one
	private []string        // of which directories that session has copies
	// given is what the host gives to the profile of a bundle, nil for another.
	given *grants.Given
}

// on reports whether there is a sandbox.
func (b box) on() bool { return b.method != "" }

// chooseBox returns the sandbox for a session. asked is the level that its user named,
// "" for none, and network the list. The level of a worker is never weaker than its
// parent's, nor is its list wider. What this system cannot enforce is refused.
func (s *App) chooseBox(asked sandbox.Level, network []string, profile agent.Profile, from profiles) (b box, err error) {
	if !asked.Known() {
		return b, Refusef(api.CodeBadRequest, "sandbox is %q: it must be none, workspace or strict", asked)
	}
	b.profile, b.given = profile, from.given
	b.level = s.level(asked, profile, from.again)
	if from.parent != nil && from.parent.Sandbox != nil {
		policy, err := s.maker().Read(from.parent.ID)
		if err != nil {
			return b, err
		}
		if policy.Digest() != from.parent.Sandbox.Digest {
			return b, Refusef(api.CodeStartFailed, "the sandbox policy of session %s is not the one that it was started with, so no worker of it is started", from.parent.Name)
		}
		b.private = from.parent.Sandbox.Private
		if b.parent = &policy; b.level.Weaker(policy.Level) {
			b.level, asked = policy.Level, policy.Level
		}
	}
	if !sandbox.None.Weaker(b.level) {
		if len(network) > 0 && b.given == nil {
			return b, Refusef(api.CodeBadRequest, "a network list needs a sandbox, and this session has none: use --sandbox workspace or strict with --network")
		}
		return b, nil
	}
	if b.method, err = sandbox.Choose(b.level, s.Support()); err != nil {
		if asked == "" {
			return b, Refusef(api.CodeUnsupported, "%s; the level is the default here, and --sandbox none starts the session without a sandbox", err)
		}
		return b, Refusef(api.CodeUnsupported, "%s", err)
	}
	return b, s.chooseNetwork(&b, network, from.again)
}

// chooseNetwork sets the network list of a sandbox: what its user named, else that of
// the session that is taken up again, else what the profile and the settings say. A
// repository's profile says nothing. A worker gets its parent's list, or a part of it.
func (s *App) chooseNetwork(b *box, asked []string, again *store.Session) error {
	ofBundle := b.given != nil && b.given.Network
	if ofBundle {
		if len(asked) > 0 {
			return Refusef(api.CodeBadRequest, "profile %s lists the hosts that it asks for, and policy.toml decides which it gets: start it without --network", b.profile.Name)
		}
		asked = b.given.Hosts
	}
	switch {
	case len(asked) > 0 || ofBundle:
		b.network = asked
	case again != nil && again.Sandbox != nil && (len(again.Sandbox.Hosts) > 0 || b.level == sandbox.Strict):
		b.network = again.Sandbox.Hosts
	case len(b.profile.Network) > 0 && b.profile.Source != agent.Repository:
		b.network = b.profile.Network
	default:
		b.network = s.Sandbox.Network
	}
	if p := b.parent; p != nil && (p.Network.Off || len(p.Network.Allow) > 0) {
		for _, host := range asked {
			if !slices.Contains(p.Network.Allow, host) {
				return Refusef(api.CodeBadRequest, "network %q is not in the list of the session that starts this worker", host)
			}
		}
		if len(asked) == 0 && (!ofBundle || b.level != sandbox.Strict) {
			b.network = p.Network.Allow
		}
	}
	if _, err := egress.Parse(b.network); err != nil {
		return Refusef(api.CodeBadRequest, "%s", oneLine(err))
	}
	if len(b.network) > 0 && b.method != sandbox.Bubblewrap {
		return Refusef(api.CodeUnsupported, "a network list needs bubblewrap, and this sandbox would be made by %s: %s", b.method, s.Support().NoBubblewrap)
	}
	return nil
}

// level returns the level of a session: what its user named, else that of the session
// that is taken up again, else what the profile and the settings say. The profile of a
// repository or of a bundle only makes that stronger.
func (s *App) level(asked sandbox.Level, profile agent.Profile, again *store.Session) sandbox.Level {
	if asked != "" {
		return asked
	}
	usual, own := sandbox.Level(s.Sandbox.Level), sandbox.Level(profile.Sandbox)
	if usual == "auto" || usual == "" {
		usual = sandbox.None
		if profile.IsAgent() || profile.Source == agent.Bundle {
			usual = sandbox.Workspace
		}
	}
	if own != "" && (profile.Source != agent.Repository && profile.Source != agent.Bundle || usual.Weaker(own)) {
		usual = own
	}
	if again == nil {
		return usual
	}
	was := sandbox.None
	if again.Sandbox != nil {
		was = again.Sandbox.Level
	}
	if was.Weaker(own) {
		return own
	}
	return was
}

// tellDenials publishes what the network list of a session denies, as it happens, until
// the function that it returns is called.
func (s *App) tellDenials(ctx context.Context, row store.Session) (stop func()) {
	if row.Sandbox == nil || len(row.Sandbox.Hosts) == 0 {
		return func() {}
	}
	since := row.CreatedAt
	if since.Before(s.begun) { // the server before has told those
		since = s.begun
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		s.contain("tell what the network list of session "+row.ID+" denies", func() {
			egress.Follow(ctx, s.Dirs.Denials(row.ID), since, func(list []egress.Denial) {
				s.Events.Publish(row.WorkspaceID, api.Event{Type: "denied", ID: row.ID, Denied: list})
			})
		}, nil)
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// maker returns what makes the policies of sessions.
func (s *App) maker() confine.Maker {
	home, err := os.UserHomeDir()
	if err != nil {
		s.Log.Warn("find the home directory", "error", err)
	}
	return confine.Maker{Dirs: s.Dirs, Settings: s.Sandbox, Home: home, Executable: s.Executable}
}

// confine makes the sandbox of a session.
func (s *App) confine(ctx context.Context, id string, w workspace.Workspace, b box, dir, program string, env *environ.Environment) (confine.Confined, error) {
	git, notes, err := s.privateGit(ctx, id, w)
	if err != nil {
		return confine.Confined{}, err
	}
	others, err := s.others(ctx, w)
	if err != nil {
		return confine.Confined{}, err
	}
	var show []string
	if b.given != nil {
		show = b.given.Readable()
		if b.given.ReadOnlyGit {
			git = git.Unwritable()
		}
	}
	made, err := s.maker().Make(confine.Session{
		ID: id, Workspace: w.ID, Root: w.Root, Made: w.Mode != workspace.ModeInPlace, Dir: dir, Level: b.level, Method: b.method, Network: b.network,
		Profile: b.profile, Program: program, Hooks: s.Dirs.Hooks(id), Parent: b.parent, ParentPrivate: b.private, Git: git, Show: show, Others: others,
	}, env)
	made.Notes = append(made.Notes, notes...)
	if err != nil {
		return made, Refusef(api.CodeStartFailed, "the sandbox of this session cannot be made: %s", s.redact(oneLine(err)))
	}
	return made, nil
}

// confineCommands makes a sandbox for the repository's commands in w, if sandboxed sessions
// have worked there: they may have written the scripts that these commands run. It is the
// strongest that such a session had. wrapper is the beginning of the command lines, nil
// for none. The caller calls done when the commands have ended.
func (s *App) confineCommands(ctx context.Context, w workspace.Workspace, env *environ.Environment) (wrapper []string, done func(), err error) {
	done = func() {}
	rows, _, err := s.Store.Sessions(ctx, w.ID, store.Page{Limit: -1})
	if err != nil {
		return nil, done, err
	}
	var b box
	if s.hasQuarantine(w) { // its sessions may be forgotten
		b.level = sandbox.Workspace
	}
	for _, row := range rows {
		if row.Sandbox == nil {
			continue
		}
		if b.level.Weaker(row.Sandbox.Level) {
			b.level = row.Sandbox.Level
		}
		if len(b.network) == 0 {
			b.network = row.Sandbox.Hosts
		}
	}
	if !sandbox.None.Weaker(b.level) {
		return nil, done, nil
	}
	if b.method, err = sandbox.Choose(b.level, s.Support()); err != nil {
		return nil, done, Refusef(api.CodeUnsupported, "sandboxed sessions have worked in this workspace, so its commands run in a sandbox: %s", err)
	}
	id := terminal.NewID("s")
	done = func() { s.cleanUp(id) }
	made, err := s.confine(ctx, id, w, b, w.Root, "", env)
	if err != nil {
		done()
		return nil, func() {}, err
	}
	return made.Wrapper, done, nil
}

// appliedTo returns what is known of the sandbox of a session without a record, nil if
// it has none.
func (s *App) appliedTo(id string) *sandbox.Applied {
	p, err := s.maker().Read(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		s.Log.Warn("read the sandbox of a session", "session", id, "error", err)
	}
	return &sandbox.Applied{Level: p.Level, Method: p.Method, Digest: p.Digest()}
}

// cleanUp removes what was placed for a session: the files of its hooks, and its
// sandbox.
func (s *App) cleanUp(id string) {
	s.removeHooks(id)
	if err := s.maker().Forget(id); err != nil {
		s.Log.Warn("remove the sandbox of a session", "session", id, "error", err)
	}
}

// sweepBoxes removes what is kept for sandboxes of sessions and workspaces that have no
// record, because no server was there when they were removed.
func (s *App) sweepBoxes(ctx context.Context) {
	for _, kept := range []struct {
		ids    []string
		known  func(id string) error
		remove func(id string) error
	}{
		{s.former.boxes, func(id string) error { _, err := s.Store.Session(ctx, id); return err }, s.maker().Forget},
		{s.former.private, func(id string) error { return s.knownWorkspace(ctx, id) }, s.maker().ForgetWorkspace},
	} {
		for _, id := range kept.ids {
			if !errors.Is(kept.known(id), store.ErrNotFound) {
				continue
			}
			if err := kept.remove(id); err != nil {
				s.Log.Warn("remove a sandbox that nobody needs", "id", id, "error", err)
			}
		}
	}
}

// knownWorkspace returns store.ErrNotFound for an id that neither a workspace has nor a
// deleted one that can come back.
func (s *App) knownWorkspace(ctx context.Context, id string) error {
	if _, err := s.Store.Workspace(ctx, id); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	_, err := s.Store.DeletedWorkspace(ctx, id)
	return err
}
