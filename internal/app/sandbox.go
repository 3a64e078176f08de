package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/confine"
	"middleman/internal/egress"
	"middleman/internal/environ"
	"middleman/internal/grants"
	"middleman/internal/ownpath"
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
	state string // the state directory of the session, "" for what is no session
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
	return confine.Maker{Dirs: s.Dirs, Settings: s.Sandbox, Home: home, Executable: s.Executable, Notify: s.Notify, Profiles: s.Profiles}
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
	open, err := s.openTo(ctx, ownpath.To(s.Executable).Through)
	if err != nil {
		return confine.Confined{}, err
	}
	if open != nil {
		return confine.Confined{}, Refusef(api.CodeStartFailed, "the sandbox of this session cannot be made: %s may have replaced middleman's own executable, %s: install middleman elsewhere and go on with that (`middleman server restart --program FILE`)", open.who, s.Executable)
	}
	made, err := s.maker().Make(confine.Session{
		ID: id, Workspace: w.ID, State: b.state, Root: w.Root, Made: w.Mode != workspace.ModeInPlace, Dir: dir, Level: b.level, Method: b.method, Network: b.network,
		Profile: b.profile, Program: program, Hooks: s.Dirs.Hooks(id), Parent: b.parent, ParentPrivate: b.private, Git: git, Show: show, Others: others, Programs: s.programs(),
	}, env)
	made.Notes = append(made.Notes, notes...)
	if err != nil {
		return made, Refusef(api.CodeStartFailed, "the sandbox of this session cannot be made: %s", s.redact(oneLine(err)))
	}
	return made, s.expose(ctx, id, w, made.Policy)
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

// A program in a sandbox can rename any directory below those that it may write to, and
// put a link in its place. git and this server are not confined, write by path, and would
// follow the link. So nothing of a workspace is made or restored where such a program
// could be (exposedBy), and a sandbox makes read-only what leads to the workspaces that
// are there already (others).
//
// Neither misses the other: a creation registers in placing before it looks for sandboxes,
// and the start of a session leaves its mark, the private git directory, before it looks
// at placing and then at the rows.

// placing has the directories in which workspaces are being made or restored, and the
// checkouts in which a merge writes files. The zero value is ready.
type placing struct {
	mu sync.Mutex
	in map[string]string // by workspace, after merging for a merge; mu guards it
}

const merging = "merge of "

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

func (p *placing) all() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.in)
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
	open, err := s.openTo(ctx, ownpath.To(dir).Through)
	if err != nil || open == nil {
		return "", err
	}
	return fmt.Sprintf("the program in the sandbox of %s can replace directories there", open.who), nil
}

// opened is a sandboxed session whose program, or what that has left, may write somewhere.
type opened struct {
	who string // such as "session w/agent"
	do  string // what its user can do about it
}

// openTo returns a sandboxed session whose program, or what that has left, may write to a
// directory that matches, nil for none. What a program has left under Landlock cannot be
// found, so a session that has ended since the machine was started counts too, whether it
// is recorded or not.
func (s *App) openTo(ctx context.Context, match func(o ownpath.Open) bool) (*opened, error) {
	rows, _, err := s.Store.Sessions(ctx, "", store.Page{Limit: -1})
	if err != nil {
		return nil, err
	}
	list, err := s.Store.Exposed(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.Sandbox == nil {
			continue
		}
		policy, err := s.maker().Read(row.ID)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			target := s.workspaceName(ctx, row.WorkspaceID) + "/" + row.Name
			return nil, Refusef(api.CodeBusy, "what the sandbox of session %s may change is not known: %s; if nothing of it runs, delete its workspace, or merge with git", target, s.redact(oneLine(err)))
		}
		if !slices.ContainsFunc(opens(row, policy, list), match) {
			continue
		}
		target := s.workspaceName(ctx, row.WorkspaceID) + "/" + row.Name
		if !row.State.Ended() {
			return &opened{"session " + target, fmt.Sprintf("stop it first (`middleman stop %s`)", target)}, nil
		}
		if row.Sandbox.Method == sandbox.Landlock { // see below
			continue
		}
		if _, quiet, _ := s.left(ctx, row); !quiet {
			return &opened{"session " + target, fmt.Sprintf("what it has left still runs: stop that first (`middleman stop %s`)", target)}, nil
		}
	}
	for _, e := range list {
		if e.Method == string(sandbox.Landlock) && e.Boot == s.Boot && match(ownpath.Open{Dir: e.Path, Which: e.Which}) {
			return &opened{s.whose(ctx, e), "what it has left under Landlock cannot be found: merge with git, once nothing of it runs, or after a restart of this machine"}, nil
		}
	}
	return nil, nil
}

// keepStill keeps sandboxed sessions from being started in a checkout, in which a merge is
// about to write files, until leave is called. It refuses if one runs there. "" is no
// checkout.
func (s *App) keepStill(ctx context.Context, id, checkout string) (leave func(), err error) {
	if checkout == "" {
		return func() {}, nil
	}
	key := merging + id
	leave = func() { s.placing.end(key) }
	s.placing.begin(key, checkout)
	err = s.unknownLeft(ctx, checkout)
	var open *opened
	if err == nil {
		way := ownpath.To(checkout)
		open, err = s.openTo(ctx, func(o ownpath.Open) bool { return way.Through(o) || way.Around(o) })
	}
	if err == nil && open != nil {
		err = Refusef(api.CodeBusy, "%s would get the merged files, and the program in the sandbox of %s can replace directories there while git writes: %s", checkout, open.who, open.do)
	}
	if err != nil {
		leave()
		return nil, err
	}
	return leave, nil
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
	for what, dir := range s.placing.all() {
		if sandbox.Within(dir, root) || sandbox.Within(root, dir) && strings.HasPrefix(what, merging) {
			return nil, Refusef(api.CodeBusy, "git is writing files in %s, which no sandbox may change meanwhile: try again in a moment", dir)
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
