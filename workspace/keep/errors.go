package keep

import "errors"

// Why nothing is brought back, beside those of package model.
var (
	// ErrNoSnapshot: nothing is kept of the workspace that could be restored.
	ErrNoSnapshot = errors.New("nothing is kept of it")
	// ErrBadSnapshot: what is kept of the workspace is not as a delete keeps it.
	// Somebody else wrote it, and nothing of it is brought back.
	ErrBadSnapshot = errors.New("the manifest of the snapshot is not one that middleman wrote")
	// ErrDamagedSnapshot: the repository has lost an object of it. What is kept
	// stays, so that a restore works once the object is back.
	ErrDamagedSnapshot = errors.New("the repository has lost a part of the snapshot: bring the object back from a copy of the repository, and restore again")
	// ErrOccupied: where a restore would put the workspace there is something.
	ErrOccupied = errors.New("there is something in its place")
)
