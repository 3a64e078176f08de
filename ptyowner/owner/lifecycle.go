package owner

import (
	"fmt"

	"middleman/terminal"
)

// phase is where an owner stands. Viewers come and go without it.
//
//	starting --started--> running --stop--> stopping
//	                       |  ^ |              |
//	                   pause  | '---ended---.  | ended
//	                       v  |             v  v
//	                       paused         draining --told--> exited --over--> closing
type phase int

const (
	phaseStarting phase = iota // the program does not run yet
	phaseRunning
	phaseStopping // it runs, and somebody wants it to end
	phasePaused   // it runs; nothing is read or sent while another image of the owner takes over
	phaseDraining // it has ended, what it wrote is still being read
	phaseExited   // its exit is told to whoever asks
	phaseClosing  // the owner is about to end
	phases        // how many there are
)

var phaseNames = [phases]string{"starting", "running", "stopping", "paused", "draining", "exited", "closing"}

func (p phase) String() string { return phaseNames[p] }

// lifeEvent is what moves an owner from phase to phase.
type lifeEvent int

const (
	eventStarted lifeEvent = iota // the program runs
	eventStop                     // somebody asked for its end
	eventPause                    // another image of the owner is to take over
	eventResume                   // it has, or it could not
	eventEnded                    // the program was reaped
	eventTold                     // the exit may be told
	eventOver                     // nobody waits for the exit any more
	lifeEvents                    // how many there are
)

var lifeEventNames = [lifeEvents]string{"start", "stop", "pause", "resume", "end", "exit", "closing"}

func (e lifeEvent) String() string { return lifeEventNames[e] }

// lifecycle has every step that an owner may take; all others are refused.
var lifecycle = [phases]map[lifeEvent]phase{
	phaseStarting: {eventStarted: phaseRunning},
	phaseRunning:  {eventStop: phaseStopping, eventPause: phasePaused, eventEnded: phaseDraining},
	phaseStopping: {eventStop: phaseStopping, eventEnded: phaseDraining},
	phasePaused:   {eventResume: phaseRunning},
	phaseDraining: {eventStop: phaseDraining, eventTold: phaseExited},
	phaseExited:   {eventStop: phaseExited, eventOver: phaseClosing},
	phaseClosing:  {},
}

// on returns the phase after e, or a *phaseError where e cannot be.
func (p phase) on(e lifeEvent) (phase, error) {
	next, ok := lifecycle[p][e]
	if !ok {
		return p, &phaseError{p, e}
	}
	return next, nil
}

// state is what the phase is called outside. An owner that is paused has a
// running program; one that drains has none, and no exit to tell yet.
func (p phase) state() terminal.State {
	switch p {
	case phaseStarting:
		return terminal.StateStarting
	case phaseRunning, phasePaused:
		return terminal.StateRunning
	case phaseStopping, phaseDraining:
		return terminal.StateStopping
	}
	return terminal.StateExited
}

// phaseError refuses an event.
type phaseError struct {
	phase phase
	event lifeEvent
}

func (e *phaseError) Error() string {
	return fmt.Sprintf("its owner is %v: no %v now", e.phase, e.event)
}

// link is where one viewer's connection stands.
//
//	greeting --welcomed--> joined --displaced, stalled, told--> parting --left, stalled--> gone
//	    '-----left-----------'-----------left------------------------------------------------^
type link int

const (
	linkGreeting link = iota // has not been welcomed
	linkJoined               // sends and receives
	linkParting              // has no seat any more, and one last frame to get
	linkGone
	links // how many there are
)

// linkEvent is what moves a connection from state to state.
type linkEvent int

const (
	eventWelcomed  linkEvent = iota // admitted, and about to be told so
	eventDisplaced                  // another writer took over
	eventStalled                    // it has read nothing for too long
	eventExitTold                   // it has all the output, the exit is next
	eventLeft                       // either side closed, or the connection broke
	linkEvents                      // how many there are
)

// connection has every step that a connection may take. What is not here
// changes nothing: one that is parting is not displaced any more.
var connection = [links]map[linkEvent]link{
	linkGreeting: {eventWelcomed: linkJoined, eventDisplaced: linkParting, eventLeft: linkGone},
	linkJoined:   {eventDisplaced: linkParting, eventStalled: linkParting, eventExitTold: linkParting, eventLeft: linkGone},
	linkParting:  {eventStalled: linkGone, eventLeft: linkGone},
	linkGone:     {},
}

// on returns the state after e, and whether e changes anything.
func (l link) on(e linkEvent) (link, bool) {
	next, ok := connection[l][e]
	if !ok {
		return l, false
	}
	return next, true
}
