// Package watch tells whether a directory tree has changed since an earlier
// moment, from the events of the file system. It opens directories only, never
// a file of a tree but the small file .git, follows no link below the root of a
// tree, and watches a bounded number of directories.
//
// An answer that nothing has changed is good enough to show, not to act on: a
// write to memory-mapped files makes no event.
//
// On Linux it uses inotify. A Watcher has no timer: where nothing changes it
// costs nothing. Elsewhere every Arm returns errors.ErrUnsupported: kqueue would
// hold a descriptor for each file, and a handle of Windows on a directory would
// keep it from being renamed and deleted.
package watch

import (
	"errors"
	"fmt"
)

// ErrTooLarge is the error of a tree that would take more watches than the
// limits allow.
var ErrTooLarge = errors.New("too large to be watched")

// Limits bound how many directories are watched. The zero value watches none.
type Limits struct {
	// Total is the limit for all trees together. A quarter of the number that
	// the system allows the user (fs.inotify.max_user_watches) is a limit too,
	// so that the user's editors have the rest.
	Total int
	// Tree is the limit for one tree.
	Tree int
}

// Tree says what to watch.
type Tree struct {
	// Root is the directory that is watched with all directories below it.
	Root string
	// Skip are directories below Root, relative to it and with "/" in between,
	// that are not watched, nor what is below them.
	Skip map[string]bool
	// Also are paths of directories that are watched without what is below
	// them. One that is missing is left out.
	Also []string
}

// Mark is a moment in the life of a watched tree. The zero value is no moment,
// so a tree has always changed since.
type Mark uint64

// tooLarge is the error of a tree with more than limit directories. whose is
// what sets the limit.
func tooLarge(limit int, whose string) error {
	return fmt.Errorf("more than %d directories, the limit %s: %w", limit, whose, ErrTooLarge)
}
