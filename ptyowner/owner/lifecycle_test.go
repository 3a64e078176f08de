package owner

import (
	"errors"
	"strings"
	"testing"

	"middleman/terminal"
)

// Every phase meets every event: a column for each event in its order, "-"
// where it is refused.
const lifecycleTable = `
phase     start    stop      pause   resume   end       exit    closing
starting  running  -         -       -        -         -       -
running   -        stopping  paused  -        draining  -       -
stopping  -        stopping  -       -        draining  -       -
paused    -        -         -       running  -         -       -
draining  -        draining  -       -        -         exited  -
exited    -        exited    -       -        -         -       closing
closing   -        -         -       -        -         -       -
`

func TestLifecycle(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(lifecycleTable), "\n")
	if got := strings.Fields(rows[0])[1:]; strings.Join(got, " ") != strings.Join(lifeEventNames[:], " ") {
		t.Fatalf("the table's events are %v, want %v", got, lifeEventNames)
	}
	if len(rows)-1 != int(phases) {
		t.Fatalf("the table has %d phases, want %d", len(rows)-1, phases)
	}
	for i, row := range rows[1:] {
		p, cells := phase(i), strings.Fields(row)
		if cells[0] != p.String() {
			t.Fatalf("row %d is of %s, want %v", i, cells[0], p)
		}
		for j, want := range cells[1:] {
			e := lifeEvent(j)
			next, err := p.on(e)
			var refused *phaseError
			switch {
			case want == "-" && (!errors.As(err, &refused) || next != p):
				t.Errorf("%v on %v: %v, %v, want it refused and nothing changed", p, e, next, err)
			case want != "-" && (err != nil || next.String() != want):
				t.Errorf("%v on %v: %v, %v, want %s", p, e, next, err, want)
			}
		}
	}
}

// An exit is told in the phases in which it is a fact, and in no other.
func TestPhaseState(t *testing.T) {
	want := map[phase]terminal.State{
		phaseStarting: terminal.StateStarting,
		phaseRunning:  terminal.StateRunning,
		phaseStopping: terminal.StateStopping,
		phasePaused:   terminal.StateRunning,
		phaseDraining: terminal.StateStopping,
		phaseExited:   terminal.StateExited,
		phaseClosing:  terminal.StateExited,
	}
	for p := range phases {
		if got := p.state(); got != want[p] {
			t.Errorf("%v is %s, want %s", p, got, want[p])
		}
	}
}

// The same for a viewer's connection: "." where nothing changes.
const connectionTable = `
link      welcomed  displaced  stalled  exit-told  left
greeting  joined    parting    .        .          gone
joined    .         parting    parting  parting    gone
parting   .         .          gone     .          gone
gone      .         .          .        .          .
`

var (
	linkNames      = [links]string{"greeting", "joined", "parting", "gone"}
	linkEventNames = [linkEvents]string{"welcomed", "displaced", "stalled", "exit-told", "left"}
)

func TestConnection(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(connectionTable), "\n")
	if got := strings.Fields(rows[0])[1:]; strings.Join(got, " ") != strings.Join(linkEventNames[:], " ") || len(rows)-1 != int(links) {
		t.Fatalf("the table has events %v and %d states, want %v and %d", got, len(rows)-1, linkEventNames, links)
	}
	for i, row := range rows[1:] {
		l, cells := link(i), strings.Fields(row)
		if cells[0] != linkNames[l] {
			t.Fatalf("row %d is of %s, want %s", i, cells[0], linkNames[l])
		}
		for j, want := range cells[1:] {
			next, changed := l.on(linkEvent(j))
			if want == "." {
				want = linkNames[l]
			}
			if linkNames[next] != want || changed != (next != l) {
				t.Errorf("%s on %s: %s, %v, want %s", linkNames[l], linkEventNames[j], linkNames[next], changed, want)
			}
		}
	}
}
