// Package escapes proves a sandbox by trying to break it: a program inside tries to
// write, read, signal and reach what is outside. Each attempt is harmless if it
// succeeds: it aims at files and processes that were made for it, or opens what it
// must not have and closes it again.
//
// What a method does not block at a level is listed with the attempt, and in
// SECURITY.md. All else must be blocked.
package escapes

import "middleman/internal/sandbox"

// Result is what became of one attempt.
type Result struct {
	Name    string `json:"name"` // what was tried
	Area    string `json:"area"`
	Blocked bool   `json:"blocked"`
	// Listed says that this method does not cover the attempt at this level, as
	// SECURITY.md lists.
	Listed bool `json:"listed"`
	// Absent says that there is nothing here that it could aim at. It counts as
	// blocked.
	Absent bool   `json:"absent"`
	Detail string `json:"detail"` // the error that blocked it
}

// always is the ABI below which a gap is open if no ABI of Landlock closes it.
const always = 1 << 20

// gap says where an attempt is not blocked: below which ABI of Landlock, per method
// and level. 0 is nowhere.
type gap struct {
	bubblewrap, strict, landlock int
}

// open reports whether the attempt may succeed.
func (g gap) open(m sandbox.Method, level sandbox.Level, abi int) bool {
	below := g.bubblewrap
	switch {
	case m == sandbox.Landlock:
		below = g.landlock
	case level == sandbox.Strict:
		below = g.strict
	}
	return abi < below
}
