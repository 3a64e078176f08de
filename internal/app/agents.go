package app

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/approve/queue"
	"middleman/internal/proc"
	"middleman/internal/store"
)

const (
	// tokenVariable is the variable by which a session's processes know its token.
	tokenVariable = "MIDDLEMAN_TOKEN"
	// lookPause is the least time between two looks at one screen. An owner tells
	// of output at most ten times a second; titles and hooks come by themselves.
	lookPause = 50 * time.Millisecond
	// foregroundPause is after how long without output a shell is looked at once more: it
	// echoes a command before that runs.
	foregroundPause = 500 * time.Millisecond
)

// agents has what is known of the programs of running sessions. The zero value is
// ready.
type agents struct {
	mu sync.Mutex // guards the fields below
	of map[string]*tracked
	// unknown counts events of hooks that this version does not know.
	unknown map[api.UnknownHook]int
}

// tracked is what is known of one session's program.
type tracked struct {
	// mu is held while the tracker changes and while that is recorded, so that the
	// record is the newest.
	mu      sync.Mutex
	tracker agent.Tracker
	// now is the status that lists show, nil for a program of which nothing can be
	// known.
	now atomic.Pointer[agent.Status]
	// started is the profile that the session was started with, "" for none.
	started string
	// asked is for looks at the screen; output tells that there was some since the
	// last look.
	asked  request
	output atomic.Bool
	// shell is the pid of a session's program that is a shell, 0 of another one: which
	// program it runs may change.
	shell atomic.Int64
	runs  string    // what the shell runs, see proc.Runs
	again time.Time // when to look once more what that is, zero for never
	// attached is set while somebody is attached.
	attached atomic.Bool
}

func newTracked(started string, t agent.Tracker) *tracked {
	k := &tracked{tracker: t, started: started, asked: make(request, 1)}
	k.show()
	return k
}

// show sets what lists show.
func (k *tracked) show() {
	t := k.tracker
	if t.Now.State == "" {
		k.now.Store(nil)
	} else if t.Rules != "" || t.Heard.State != "" {
		k.now.Store(&t.Now)
	}
}

// profile is the one whose rules hold for the screen, or that has no rules.
func (k *tracked) profile() agent.Profile {
	return agent.Profile{Name: cmp.Or(k.tracker.Rules, k.started)}
}

func (k *tracked) hasRules() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tracker.Rules != ""
}

// next is when time alone may change the status, zero for never.
func (k *tracked) next() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := k.tracker.Next()
	if at.IsZero() || !k.again.IsZero() && k.again.Before(at) {
		return k.again
	}
	return at
}

// printed asks for a look at the screen after output.
func (k *tracked) printed() {
	k.output.Store(true)
	k.asked.soon()
}

// begin makes a session's tracker before the session is started.
func (a *agents) begin(id, profile, rules string) {
	a.put(id, newTracked(profile, agent.Tracker{Rules: rules, Now: agent.Status{State: agent.Unknown, Reason: "it was just started", Since: time.Now().UTC()}}))
}

// put adds the tracker of a session, or returns the one that there is.
func (a *agents) put(id string, k *tracked) *tracked {
	a.mu.Lock()
	defer a.mu.Unlock()
	if old := a.of[id]; old != nil {
		return old
	}
	if a.of == nil {
		a.of = map[string]*tracked{}
	}
	a.of[id] = k
	return k
}

func (a *agents) get(id string) *tracked {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of[id]
}

func (a *agents) drop(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.of, id)
}

// tracked returns what is known of a session's program: what an earlier server
// has recorded, if this one knows nothing yet.
func (s *App) tracked(ctx context.Context, row store.Session) *tracked {
	if k := s.agents.get(row.ID); k != nil {
		return k
	}
	var t agent.Tracker
	if err := s.Store.Tracker(ctx, row.ID, &t); err != nil {
		s.Log.Warn("read what a session's program does", "session", row.ID, "error", err)
		t = agent.Tracker{}
	}
	if t.Rules == "" {
		if p := s.profileOf(ctx, row); p.HasRules() {
			t.Rules = p.RulesOf()
		}
	}
	t.Held = t.Held && s.approvals.Oldest(row.ID) != nil // else its hook was gone before this server came
	return s.agents.put(row.ID, newTracked(row.Profile, t))
}

// agentNow returns what lists show of a running session's program, nil for
// nothing.
func (s *App) agentNow(id string) *agent.Status {
	if k := s.agents.get(id); k != nil {
		return k.now.Load()
	}
	return nil
}

// endedAgent is what lists show of a profile's program that has ended.
func endedAgent(row store.Session) *agent.Status {
	status := agent.Profile{}.Judge(agent.Ended(row.Exit))
	if row.Exit != nil {
		status.Since = row.Exit.Time
	}
	return &status
}

// followAgent looks at a session's screen whenever the tracker is woken, until
// the function that it returns is called. It asks tell to tell of another program that a
// shell runs.
func (s *App) followAgent(ctx context.Context, row store.Session, k *tracked, tell request) (stop func()) {
	look := newTeller(k.asked, lookPause, k.next, func() {
		s.contain("look at session "+row.ID, func() {
			if s.lookAtForeground(ctx, row, k) {
				tell.soon()
			}
			if !k.hasRules() {
				k.output.Store(false)
				s.judge(ctx, row, k, func(t *agent.Tracker, now time.Time) bool { return t.Decide(now) })
			} else if _, err := s.lookAtScreen(ctx, row, k); err != nil && ctx.Err() == nil {
				s.Log.Debug("look at a session's screen", "session", row.ID, "error", err)
			}
		}, nil)
	})
	look.soon()
	return look.stop
}

// lookAtForeground takes the rules of the profile whose program a shell runs, so that an
// agent that somebody starts by hand is known as such. It reports whether the shell runs
// another program than before.
func (s *App) lookAtForeground(ctx context.Context, row store.Session, k *tracked) (changed bool) {
	shell := int(k.shell.Load())
	if shell == 0 {
		return false
	}
	runs, rules := proc.Runs(shell), ""
	if p := s.profileOfProgram(runs); p.HasRules() {
		rules = p.RulesOf()
	}
	k.mu.Lock()
	if changed = runs != k.runs; changed || k.output.Load() {
		k.again = time.Now().Add(foregroundPause)
	} else {
		k.again = time.Time{}
	}
	k.runs = runs
	k.mu.Unlock()
	s.judge(ctx, row, k, func(t *agent.Tracker, now time.Time) bool { return t.Run(rules, now) })
	return changed
}

// profileNow is profileOf, for a shell that of the program that it runs.
func (s *App) profileNow(ctx context.Context, row store.Session, k *tracked) agent.Profile {
	if shell := k.shell.Load(); shell != 0 {
		return s.profileOfProgram(proc.Runs(int(shell)))
	}
	return s.profileOf(ctx, row)
}

// lookAtScreen looks at a session's screen and records what follows.
func (s *App) lookAtScreen(ctx context.Context, row store.Session, k *tracked) (agent.Evidence, error) {
	b, err := s.backend(row)
	if err != nil {
		return agent.Evidence{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	printed := k.output.Swap(false)
	e, err := agent.Gather(ctx, b.Session(row.ID))
	if err != nil || e.Ended {
		return e, err // the monitor records the end
	}
	s.judge(ctx, row, k, func(t *agent.Tracker, now time.Time) bool {
		return t.See(k.profile().Look(e), printed, now)
	})
	return e, nil
}

// judge changes a tracker. If its status changes with that, judge records and
// publishes it.
func (s *App) judge(ctx context.Context, row store.Session, k *tracked, change func(*agent.Tracker, time.Time) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.tracker.Now
	if !change(&k.tracker, time.Now().UTC()) {
		return
	}
	after := k.tracker.Now
	k.show()
	if err := s.Store.SetTracker(context.WithoutCancel(ctx), row.ID, k.tracker); err != nil {
		s.Log.Error("record what a session's program does", "session", row.ID, "error", err)
	}
	another := k.tracker.Held && after.State == agent.Waiting && before.Reason != after.Reason // request, told by its hook
	if before.State != after.State || before.Kind != after.Kind || another {
		s.agentChanged(ctx, row, before, after)
	}
	s.publishSession(ctx, row.ID)
}

// stopSignals are those by which a stop asks a program to end, and with which one that
// a user has stopped in another way ends, such as by tmux.
var stopSignals = []string{"SIGHUP", "SIGTERM"}

// endAgent ends the tracking of a session that has ended. The caller publishes
// the session.
func (s *App) endAgent(ctx context.Context, id string, e agent.Evidence) {
	row, err := s.Store.Session(context.WithoutCancel(ctx), id)
	if err != nil {
		return // it was removed meanwhile
	}
	if err := s.approvals.End(context.WithoutCancel(ctx), id); err != nil {
		s.Log.Error("close what a session asked", "session", id, "error", err)
	}
	k := s.agents.get(id)
	s.agents.drop(id)
	var before agent.Status
	if k != nil && k.now.Load() != nil {
		before = *k.now.Load()
	}
	// A command that is no agent's is not told of, nor an end that somebody sees or
	// has asked for.
	if before.State == "" && row.Profile == "" || k != nil && k.attached.Load() || e.Stopped || slices.Contains(stopSignals, e.Signal) {
		s.notices.Forget(id)
		return
	}
	s.agentChanged(ctx, row, before, agent.Profile{}.Judge(e))
}

// agentChanged is called when a session's program begins to do something else,
// or ends.
func (s *App) agentChanged(ctx context.Context, row store.Session, before, after agent.Status) {
	s.Log.Debug("an agent's state changed", "session", row.ID, "from", before.State, "to", after.State, "by", after.Rule)
	s.notices.Changed(api.NoticeItem{
		Session: row.ID, SessionName: row.Name, Workspace: row.WorkspaceID, WorkspaceName: s.workspaceName(ctx, row.WorkspaceID), Profile: row.Profile,
	}, before, after)
}

// lookedTime is how recent the input of an attached viewer must be for somebody
// to look at the session.
const lookedTime = 30 * time.Second

// looked reports whether somebody looks at a session: is attached, and has
// attached or typed a moment ago. A focus report of their terminal is input too.
// Watchers do not count: they type nothing.
func (s *App) looked(ctx context.Context, id string) bool {
	live, err := s.Terminal(ctx, id)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	now, err := live.Status(ctx)
	if err != nil || now.Writer == nil {
		return false
	}
	last := now.Writer.Since
	if now.Writer.Typed.After(last) {
		last = now.Writer.Typed
	}
	return time.Since(last) < lookedTime
}

// AgentStatus tells what the program of a session does now, and why that is
// believed. It asks the session.
func (s *App) AgentStatus(ctx context.Context, id string) (agent.Report, error) {
	row, err := s.Store.Session(ctx, id)
	if err != nil {
		return agent.Report{}, err
	}
	if row.State.Ended() {
		return agent.Profile{Name: row.Profile}.Tell(id, agent.Evidence{}, agent.Tracker{Now: *endedAgent(row)}), nil
	}
	k := s.tracked(ctx, row)
	var e agent.Evidence
	err = s.Guarded("ask session "+id, func() (err error) {
		e, err = s.lookAtScreen(ctx, row, k)
		return err
	})
	if err != nil {
		return agent.Report{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tracker
	if e.Ended {
		t.Now = agent.Profile{}.Judge(e)
	}
	return k.profile().Tell(id, e, t), nil
}

// Report takes what a hook of a session's program says. A hook of another agent
// than the session's is refused: an agent may have been started by an agent.
func (s *App) Report(ctx context.Context, id string, h agent.Hook) error {
	if err := h.Check(); err != nil {
		return Refusef(api.CodeBadRequest, "%s", err)
	}
	if over, ran := h.GoneOn(); over || ran != "" {
		if err := s.approvals.GoneOn(context.WithoutCancel(ctx), id, ran, h.At); err != nil {
			return err
		}
	}
	if h.State == agent.Working || h.State == agent.Idle {
		if a := s.approvals.Oldest(id); a != nil { // of tools or agents at once, one goes on and another one waits
			h = s.asks(h, *a)
		}
	}
	return s.hear(ctx, id, h)
}

// hear is Report without the checks of h.
func (s *App) hear(ctx context.Context, id string, h agent.Hook) error {
	row, err := s.Store.Session(ctx, id)
	if err != nil {
		return err
	}
	if row.State.Ended() {
		return Refusef(api.CodeEnded, "session %s has ended", row.Name)
	}
	if h.Unknown {
		s.agents.countUnknown(h.Agent, h.Event)
	}
	k := s.tracked(ctx, row)
	other := ""      // the agent that the session runs instead
	foreign := false // it is about a conversation that is not the session's
	s.judge(ctx, row, k, func(t *agent.Tracker, now time.Time) bool {
		if t.Rules == "" && row.Profile == "" {
			t.Rules = h.Agent // started by hand, or by a wrapper
		}
		if t.Rules != h.Agent && t.Rules != "" {
			other = t.Rules
			return false
		}
		foreign = t.Foreign(h)
		return t.Hear(h, now)
	})
	if other != "" {
		return Refusef(api.CodeBadRequest, "session %s runs %s, so it takes no reports of %s", row.Name, other, h.Agent)
	}
	k.asked.soon()
	if h.Conversation != "" && h.Conversation != row.Conversation && !foreign {
		return s.Store.SetConversation(ctx, id, h.Conversation)
	}
	return nil
}

// maxUnknown is how many unknown events are told apart.
const maxUnknown = 100

// countUnknown counts an event of an agent that this version does not know.
func (a *agents) countUnknown(name, event string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unknown == nil {
		a.unknown = map[api.UnknownHook]int{}
	}
	key := api.UnknownHook{Agent: name, Event: event}
	if _, known := a.unknown[key]; known || len(a.unknown) < maxUnknown {
		a.unknown[key]++
	}
}

// UnknownHooks returns the events of hooks that this version does not know, and
// how often each came since the server started, sorted.
func (s *App) UnknownHooks() []api.UnknownHook {
	s.agents.mu.Lock()
	defer s.agents.mu.Unlock()
	var list []api.UnknownHook
	for key, n := range s.agents.unknown {
		key.Count = n
		list = append(list, key)
	}
	slices.SortFunc(list, func(a, b api.UnknownHook) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Event, b.Event))
	})
	return list
}

// approvalView returns an approval in the form for clients.
func (s *App) approvalView(a store.Approval) api.Approval {
	v := api.Approval{
		ID: a.ID, SessionID: a.SessionID, WorkspaceID: a.WorkspaceID, Session: a.Session, Agent: a.Agent, Tool: a.Tool,
		Summary: s.redact(a.Summary), Arguments: s.redact(a.Arguments), Diff: s.redact(a.Diff),
		State: api.ApprovalWaiting, Rule: a.Rule, Reason: s.redact(a.Reason), DecidedBy: a.DecidedBy, CreatedAt: a.CreatedAt,
	}
	switch a.Decision {
	case store.Allowed:
		v.State = api.ApprovalAllowed
	case store.Denied:
		v.State = api.ApprovalDenied
	case store.Undecided:
		v.State = api.ApprovalClosed
	}
	if !a.DecidedAt.IsZero() {
		v.DecidedAt = &a.DecidedAt
	}
	return v
}

// publishApproval publishes that an approval waits, or waits no more. The agent's
// status follows: it is its hook that waits here. other is another one of its session
// that waits, nil for none.
func (s *App) publishApproval(a store.Approval, other *store.Approval) {
	view := s.approvalView(a)
	s.Events.Publish(a.WorkspaceID, api.Event{Type: "approval", ID: a.ID, Approval: &view})
	h := agent.Hook{Agent: a.Agent, Event: "PermissionRequest", At: time.Now(), State: agent.Working}
	switch {
	case a.Decision == "":
		h = s.asks(h, a)
	case other != nil:
		h = s.asks(h, *other)
	case a.Reason == queue.WentOn: // its report follows
		return
	case a.Decision == store.Undecided: // the agent asks by itself
		h = s.asks(h, a)
		h.Held = false
	}
	if err := s.hear(context.Background(), a.SessionID, h); err != nil {
		s.Log.Debug("the status of an agent that asks", "session", a.SessionID, "error", err)
	}
}

// asks returns h as the hook of an agent that waits to be allowed something, and whose
// hook waits for the answer.
func (s *App) asks(h agent.Hook, a store.Approval) agent.Hook {
	h.State, h.Kind, h.Reason = agent.Waiting, agent.Permission, s.redact(a.Summary)
	h.Tool, h.Call, h.Held = "", "", true
	return h
}
