package vt

import (
	"strconv"
	"strings"
)

// Progress is what a program says of its progress by OSC 9;4 (ConEmu, "ANSI X3.64 and
// Xterm-256 colors", OSC 9 ; 4). The zero Progress is none.
type Progress struct {
	State   ProgressState
	Percent int // 0 to 100; 0 if the state is ProgressIndeterminate
}

// ProgressState is the state of a Progress, with the number that OSC 9;4 has for it.
type ProgressState int

// The states of a Progress.
const (
	ProgressNone ProgressState = iota
	ProgressNormal
	ProgressError
	ProgressIndeterminate
	ProgressPaused
)

// String returns the progress as OSC 9;4 has it: "state;percent".
func (p Progress) String() string {
	return strconv.Itoa(int(p.State)) + ";" + strconv.Itoa(p.Percent)
}

// Works reports whether the program says that it works.
func (p Progress) Works() bool {
	return p.State == ProgressNormal || p.State == ProgressIndeterminate
}

// ParseProgress reads what String returns. What is not such is none.
func ParseProgress(text string) Progress {
	p, _ := Progress{}.set(text)
	return p
}

// set returns what an OSC 9;4 makes of the progress: "state" or "state;percent". An error
// or a pause without a percentage keeps the one there is, as ConEmu does. A share that is
// below 0 is not known: programs write -1 for that. ok is false if the text says nothing.
func (p Progress) set(text string) (_ Progress, ok bool) {
	state, share, hasShare := strings.Cut(text, ";")
	n, err := strconv.Atoi(state)
	if err != nil || n < int(ProgressNone) || n > int(ProgressPaused) {
		return p, false
	}
	next := Progress{State: ProgressState(n)}
	share, _, _ = strings.Cut(share, ";")
	percent, err := strconv.Atoi(share)
	switch {
	case next.State == ProgressNone || next.State == ProgressIndeterminate:
	case hasShare && err == nil && percent < 0 && next.State == ProgressNormal:
		next.State = ProgressIndeterminate
	case hasShare && err == nil:
		next.Percent = min(max(percent, 0), 100)
	case next.State != ProgressNormal:
		next.Percent = p.Percent
	}
	return next, true
}
