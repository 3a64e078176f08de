// Package notice tells the user what their agents need and have done: it decides
// which changes are worth a notice and which are one, and gives notices to a
// command of the user's. It does not know where the changes come from.
package notice

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
)

// window is how long the changes that follow a first one are part of its notice.
const window = 2 * time.Second

// Options are the parts of a Teller.
type Options struct {
	// Looked reports whether somebody looks at a session, who need not be told.
	Looked func(ctx context.Context, session string) bool
	// Publish gets each notice.
	Publish func(api.Notice)
	// Command gets each notice too; the zero value is none.
	Command *Command
	// Push gets each notice too, and those of other machines, and must not block; nil
	// for none.
	Push func(api.Notice)
	Log  *slog.Logger
}

// Teller makes notices of changes. Make one with New. It is safe for concurrent
// use.
type Teller struct {
	Options
	// mu guards the fields below.
	mu      sync.Mutex
	agents  map[string]*known
	pending []api.NoticeItem
	first   time.Time     // when the first of pending came
	changed chan struct{} // has room for one; full when pending is no longer empty

	passed chan api.Notice // see Pass; what does not fit is dropped
}

// known is what there is to know of one session, for the next notice.
type known struct {
	busy bool // it has worked since its last turn was told as done
	// told is the last that was told, or that somebody saw, unless it has worked
	// since.
	told string
}

// New returns a Teller. It tells nothing until Run is called.
func New(o Options) *Teller {
	if o.Push == nil {
		o.Push = func(api.Notice) {}
	}
	return &Teller{Options: o, agents: map[string]*known{}, changed: make(chan struct{}, 1), passed: make(chan api.Notice, maxPassed)}
}

// maxPassed bounds the notices of other machines that wait to be told.
const maxPassed = 16

// Pass gives a notice of another machine to the command, and pushes it. It does not
// block.
func (t *Teller) Pass(n api.Notice) {
	select {
	case t.passed <- n:
	default:
	}
}

// Changed takes a change of what a session's program does; of item, its session
// counts. It does not block. What is pending of the session and no longer holds
// is forgotten.
func (t *Teller) Changed(item api.NoticeItem, before, after agent.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.agents[item.Session]
	if k == nil {
		k = &known{busy: before.State == agent.Working}
		t.agents[item.Session] = k
	}
	if after.State != agent.Unknown {
		t.pending = slices.DeleteFunc(t.pending, func(p api.NoticeItem) bool { return p.Session == item.Session })
	}
	item.Kind, item.Reason, item.Since = k.kind(before, after), after.Reason, time.Now().UTC()
	if after.Ended() || after.State == "" { // a shell has its terminal again
		delete(t.agents, item.Session)
	}
	if item.Kind == "" || k.told == tellable(item) {
		return
	}
	if len(t.pending) == 0 {
		t.first = time.Now()
	}
	t.pending = append(t.pending, item)
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// Forget forgets a session that is gone.
func (t *Teller) Forget(session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.agents, session)
}

// kind returns the kind of the notice that a change is worth, "" for none.
func (k *known) kind(before, after agent.Status) string {
	switch after.State {
	case agent.Working:
		k.busy, k.told = true, ""
	case agent.Waiting:
		return api.NeedsInput
	case agent.Idle:
		if after.Kind == agent.Background {
			return "" // done when that is over too
		}
		was := k.busy
		if k.busy = false; was {
			return api.TurnDone
		}
		k.told = ""
	case agent.Done:
		if k.busy || before.State != agent.Idle {
			return api.TurnDone // else its last turn was told, and the user ended it
		}
	case agent.Failed, agent.Lost:
		return api.AgentFail
	}
	return ""
}

// tellable is what makes two notices of a session the same.
func tellable(item api.NoticeItem) string { return item.Kind + "\x00" + item.Reason }

// Run tells until ctx ends, and then waits until the commands that it has started
// are gone.
func (t *Teller) Run(ctx context.Context) {
	defer t.Command.wait()
	for {
		select {
		case <-t.changed:
		case n := <-t.passed:
			t.tellPassed(ctx, n)
			continue
		case <-ctx.Done():
			return
		}
		t.mu.Lock()
		left := window - time.Since(t.first)
		t.mu.Unlock()
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
		t.tell(ctx)
	}
}

// maxItems bounds the items of one notice of other machines.
const maxItems = 64

// tellPassed makes one notice of all that comes from other machines within window, so
// that none of them can make the command run all the time.
func (t *Teller) tellPassed(ctx context.Context, n api.Notice) {
	late := time.NewTimer(window)
	defer late.Stop()
	for {
		select {
		case more := <-t.passed:
			n.Items = append(n.Items, more.Items...)
			n.Items = n.Items[:min(len(n.Items), maxItems)]
		case <-late.C:
			t.Command.start(ctx, n, t.Log)
			t.Push(n)
			return
		case <-ctx.Done():
			return
		}
	}
}

// tell makes one notice of what is pending, without what somebody looks at.
func (t *Teller) tell(ctx context.Context) {
	t.mu.Lock()
	items := t.pending
	t.pending = nil
	select {
	case <-t.changed: // what came since belongs to this notice
	default:
	}
	for _, item := range items {
		if k := t.agents[item.Session]; k != nil {
			k.told = tellable(item)
		}
	}
	t.mu.Unlock()
	items = slices.DeleteFunc(items, func(i api.NoticeItem) bool { return t.Looked(ctx, i.Session) })
	if len(items) == 0 || ctx.Err() != nil {
		return
	}
	n := api.Notice{Items: items}
	t.Publish(n)
	t.Command.start(ctx, n, t.Log)
	t.Push(n)
}
