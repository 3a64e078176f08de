package owner

import (
	"fmt"

	"middleman/terminal"
)

// phase is an owner's state. It does not depend on viewers.
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
	phaseStopping // the program runs, and a client has asked for its end
	phasePaused   // the program runs; nothing is read or sent while another image takes over
	phaseDraining // the program has ended; its last output is still being read
	phaseExited   // clients may be told of the exit
	phaseClosing  // the owner is about to end
	phases        // the number of phases
)

var phaseNames = [phases]string{"starting", "running", "stopping", "paused", "draining", "exited", "closing"}

func (p phase) String() string { return phaseNames[p] }

// lifeEvent is an event that may change an owner's phase.
type lifeEvent int

const (
	eventStarted lifeEvent = iota // the program runs
	eventStop                     // a client asked for the program's end
	eventPause                    // another image of the owner is to take over
	eventResume                   // the other image has taken over, or could not
	eventEnded                    // the program was reaped
	eventTold                     // clients may be told of the exit
	eventOver                     // no client waits for the exit any more
	lifeEvents                    // the number of events
)

var lifeEventNames = [lifeEvents]string{"start", "stop", "pause", "resume", "end", "exit", "closing"}

func (e lifeEvent) String() string { return lifeEventNames[e] }

// lifecycle has every transition of an owner. All others are refused.
var lifecycle = [phases]map[lifeEvent]phase{
	phaseStarting: {eventStarted: phaseRunning},
	phaseRunning:  {eventStop: phaseStopping, eventPause: phasePaused, eventEnded: phaseDraining},
	phaseStopping: {eventStop: phaseStopping, eventEnded: phaseDraining},
	phasePaused:   {eventResume: phaseRunning},
	phaseDraining: {eventStop: phaseDraining, eventTold: phaseExited},
	phaseExited:   {eventStop: phaseExited, eventOver: phaseClosing},
	phaseClosing:  {},
}

// on returns the phase after e, or a *phaseError if e is refused.
func (p phase) on(e lifeEvent) (phase, error) {
	next, ok := lifecycle[p][e]
	if !ok {
		return p, &phaseError{p, e}
	}
	return next, nil
}

// state returns the phase's name outside of the owner. In a paused owner the
// program runs. A draining owner has no program any more but no exit to tell
// either, so its session counts as stopping.
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

// phaseError reports an event that a phase refuses.
type phaseError struct {
	phase phase
	event lifeEvent
}

func (e *phaseError) Error() string {
	return fmt.Sprintf("its owner is %v: no %v now", e.phase, e.event)
}

// link is the state of one viewer's connection. A viewer that is displaced
// while it is greeting is parting too.
//
//	greeting --welcomed--> joined --displaced, stalled, told--> parting --left, stalled--> gone
//	    '-----left-----------'-----------left------------------------------------------------^
type link int

const (
	linkGreeting link = iota // not welcomed yet
	linkJoined               // sends and receives
	linkParting              // has lost its seat, and still gets one last frame
	linkGone
	links // the number of states
)

// linkEvent is an event that may change the state of a connection.
type linkEvent int

const (
	eventWelcomed  linkEvent = iota // admitted; the Welcome is sent next
	eventDisplaced                  // another writer took over
	eventStalled                    // the viewer has read nothing for too long
	eventExitTold                   // the viewer has all the output, the exit is next
	eventLeft                       // either side closed, or the connection broke
	linkEvents                      // the number of events
)

// connection has every transition of a connection. Other events change nothing:
// for example, a parting connection is not displaced.
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
