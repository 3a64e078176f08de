package keep

import "errors"

// Errors of a restore, besides those of package model.
var (
	// ErrNoSnapshot: nothing was kept of the workspace.
	ErrNoSnapshot = errors.New("there is no snapshot of it")
	// ErrBadSnapshot: the snapshot is not in the form that a delete writes, so
	// another program wrote it. Restore brings back nothing of it.
	ErrBadSnapshot = errors.New("the manifest of the snapshot is not one that middleman wrote")
	// ErrDamagedSnapshot: the repository has lost an object of the snapshot.
	// The rest stays, so that a restore works once the object is back.
	ErrDamagedSnapshot = errors.New("the repository has lost a part of the snapshot: bring the object back from a copy of the repository, and restore again")
	// ErrOccupied: something else has the place where a restore would put the
	// workspace.
	ErrOccupied = errors.New("something else is in its place")
)

// errUnreadable: a delete could not keep a file or directory, because it may not read it.
var errUnreadable = errors.New("cannot be read: make it readable (`chmod u+rX`; as root, what belongs to another user), or remove it")
