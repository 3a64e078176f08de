package owner

import (
	"time"

	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// unseen knows what was printed since somebody last looked at the session. The
// owner's mu guards it.
type unseen struct {
	lookers int    // seated viewers that show the output to somebody
	seen    uint64 // somebody has looked at the output below it
	bell    uint64 // the output below it has the last bell; 0 before the first
	told    bool   // an event has told of output since seen
	rang    bool   // an event has told of a bell since seen
}

// looks reports whether the viewer shows the output to somebody.
func (v *viewer) looks() bool { return v.mode != wire.ModeControl && !v.noOutput && !v.reader }

// look counts a viewer that was seated.
func (o *owner) look(v *viewer) {
	if !v.looks() {
		return
	}
	o.unseen.lookers++
	if o.unseen.told || o.unseen.rang {
		o.unseen.told, o.unseen.rang = false, false
		o.addEvent(terminal.Event{Kind: terminal.EventUnseen})
	}
}

// lookAway counts a viewer that leaves. What it was sent is seen.
func (o *owner) lookAway(v *viewer) {
	if v.looks() {
		o.unseen.lookers--
		o.unseen.seen = max(o.unseen.seen, v.offset)
	}
}

// tellUnseen tells of output that is about to be published, once until somebody
// looks.
func (o *owner) tellUnseen() {
	if o.unseen.lookers == 0 && !o.unseen.told {
		o.unseen.told = true
		o.addEvent(terminal.Event{Kind: terminal.EventUnseen})
	}
}

// ring takes note of a bell in the output below end.
func (o *owner) ring(end uint64) {
	u := &o.unseen
	u.bell = end
	if u.lookers == 0 && !u.rang && end > u.seen {
		u.rang = true
		o.addEvent(terminal.Event{Kind: terminal.EventUnseen})
	}
}

func (o *owner) unseenNow() *wire.Unseen {
	if o.unseen.lookers > 0 {
		return &wire.Unseen{}
	}
	return &wire.Unseen{Bytes: o.recent.head - min(o.unseen.seen, o.recent.head), Bell: o.unseen.bell > o.unseen.seen}
}

// activityPause is the least time between two tellings of output.
const activityPause = 100 * time.Millisecond

// activity tells viewers that asked for it that there is new output: at once
// after a pause, then at most once in activityPause, and once after the last
// output. The owner's mu guards it.
type activity struct {
	viewers int    // seated viewers that asked
	told    uint64 // the head that was told last
	pausing bool   // a timer will look again
}

// tells reports whether the viewer asked to be told of output.
func (v *viewer) tells() bool { return v.activity && v.noOutput }

// tellActivity tells of output that was published. Called with mu held.
func (o *owner) tellActivity() {
	a := &o.activity
	if a.viewers == 0 || a.pausing || a.told == o.recent.head {
		return
	}
	a.told, a.pausing = o.recent.head, true
	for v := range o.viewers {
		if v.tells() {
			v.active = true
			v.newOutput.Signal()
		}
	}
	time.AfterFunc(activityPause, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		a.pausing = false
		o.tellActivity()
	})
}

// activeEvent is the event that tells of output.
func (o *owner) activeEvent() terminal.Event {
	return terminal.Event{Kind: terminal.EventOutput, Offset: o.recent.head}
}
