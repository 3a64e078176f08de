package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// tells are the events that may change what git tells of a tree. The others
	// keep the kernel from following a link and from watching a file, and end
	// the events of files that are deleted but open.
	tells = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
		unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK
	// grows are the events after which a tree may have directories without a
	// watch, if they are about a directory.
	grows = unix.IN_CREATE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO
	// drainPause is the least time between two reads of events that nobody
	// asked for: a program that writes all the time wakes the server seldom.
	drainPause = 200 * time.Millisecond
	// retryAfter is how long a tree that could not be watched is left alone.
	retryAfter = 5 * time.Minute
)

// Watcher watches trees, each known by an id. Make one with New. It is safe for
// concurrent use, but the Arm calls for one id must not overlap.
type Watcher struct {
	limits  Limits
	reading sync.WaitGroup // the goroutine that reads events
	closed  chan struct{}  // closed by Close
	// mu guards the fields below and the fields of all trees.
	mu     sync.Mutex
	file   *os.File // of inotify; nil before the first Arm and after Close
	fd     int      // of file, while that is not nil
	failed error    // why there is no inotify
	last   Mark     // the last one that was given out
	trees  map[string]*tree
	// watchers are the trees that want the events of a directory, by the number
	// of its watch. One inode has one watch, and may be in several trees.
	watchers map[int32][]*tree
	buffer   []byte
}

// tree is a tree that is watched, or could not be.
type tree struct {
	mark    Mark // the moment of the last event
	watched map[int32]bool
	root    os.FileInfo // of the root, when it was armed
	path    string      // of the root
	dropped bool        // nothing may be added to it
	partial bool        // there may be directories without a watch
	failed  error       // why it is not watched
	retry   time.Time   // with failed: when to try again
}

// New returns a Watcher. It opens nothing before the first Arm. Close it.
func New(limits Limits) *Watcher {
	if allowed := userWatches(); allowed > 0 {
		limits.Total = min(limits.Total, allowed/4)
	}
	return &Watcher{limits: limits, closed: make(chan struct{}), trees: map[string]*tree{}, watchers: map[int32][]*tree{}, buffer: make([]byte, 64<<10)}
}

// userWatches is how many watches the system allows a user, 0 if it does not say.
func userWatches() int {
	raw, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
	return n
}

// Arm returns a mark of this moment, after making sure that the tree id is
// watched. It calls find to learn what to watch if it does not know that, or if
// directories have appeared, and returns an error of find. If the tree cannot be
// watched, the error says why, and Arm returns the same error without calling
// find for some minutes.
func (w *Watcher) Arm(ctx context.Context, id string, find func() (Tree, error)) (Mark, error) {
	t, mark, err := w.begin(id)
	if err != nil || t == nil {
		return mark, err
	}
	what, found := find()
	err = found
	if err == nil {
		err = w.walk(ctx, t, what)
	}
	if err == nil {
		return mark, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.release(t, nil)
	if t.partial = true; found == nil && ctx.Err() == nil {
		t.failed, t.retry = err, time.Now().Add(retryAfter)
	}
	return 0, err
}

// begin returns the mark of this moment, and the tree if it must be walked.
func (w *Watcher) begin(id string) (*tree, Mark, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.open(); err != nil {
		return nil, 0, err
	}
	w.drain()
	t := w.trees[id]
	if t == nil {
		t = &tree{watched: map[int32]bool{}, partial: true}
		w.trees[id] = t
		w.changed(t)
	}
	switch {
	case t.failed != nil && time.Now().Before(t.retry):
		return nil, 0, t.failed
	case t.failed != nil || t.partial || !t.inPlace():
		t.failed, t.partial = nil, false
		return t, t.mark, nil
	}
	return nil, t.mark, nil
}

// open opens inotify and starts the goroutine that reads its events. A failure
// stays: it means that the user has no instance left.
func (w *Watcher) open() error {
	if w.file != nil || w.failed != nil {
		return w.failed
	}
	if w.limits.Total <= 0 || w.limits.Tree <= 0 {
		w.failed = errors.New("watching is turned off (setting watch.directories)")
		return w.failed
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		w.failed = fmt.Errorf("watch directories: open inotify: %w", err)
		return w.failed
	}
	w.file, w.fd = os.NewFile(uintptr(fd), "inotify"), fd
	conn, err := w.file.SyscallConn()
	if err != nil {
		w.failed = fmt.Errorf("watch directories: %w", err)
		return w.failed
	}
	w.reading.Go(func() { w.read(conn) })
	return nil
}

// read reads events, so that the kernel's queue does not overflow, until Close.
func (w *Watcher) read(conn syscall.RawConn) {
	for {
		err := conn.Read(func(uintptr) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.drain()
		})
		if err != nil {
			return
		}
		select {
		case <-time.After(drainPause):
		case <-w.closed:
			return
		}
	}
}

// drain takes all events that are queued now. It reports whether there were any.
func (w *Watcher) drain() (any bool) {
	for w.file != nil {
		n, err := unix.Read(w.fd, w.buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return any
		}
		any = true
		each(w.buffer[:n], w.take)
	}
	return true
}

// take handles one event.
func (w *Watcher) take(e event) {
	if e.mask&unix.IN_Q_OVERFLOW != 0 {
		for _, t := range w.trees {
			w.changed(t)
			t.partial = true
		}
		return
	}
	for _, t := range w.watchers[e.watch] {
		w.changed(t)
		switch {
		case e.mask&(unix.IN_IGNORED|unix.IN_MOVE_SELF|unix.IN_UNMOUNT) != 0,
			e.mask&unix.IN_ISDIR != 0 && e.mask&grows != 0,
			e.name == ".gitignore", e.name == ".git", e.name == "exclude":
			t.partial = true
		}
		if e.mask&unix.IN_IGNORED != 0 {
			delete(t.watched, e.watch)
		}
	}
	if e.mask&unix.IN_IGNORED != 0 {
		delete(w.watchers, e.watch)
	}
}

func (w *Watcher) changed(t *tree) {
	w.last++
	t.mark = w.last
}

// inPlace reports whether the root of t is the directory that was armed.
func (t *tree) inPlace() bool {
	now, err := os.Lstat(t.path)
	return err == nil && t.root != nil && os.SameFile(now, t.root)
}

// Unchanged reports whether the tree id is watched and no event came since mark.
func (w *Watcher) Unchanged(id string, mark Mark) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drain()
	t := w.trees[id]
	return t != nil && t.failed == nil && t.mark == mark && !t.partial && t.inPlace()
}

// Drop ends the watch of a tree and forgets it.
func (w *Watcher) Drop(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.trees[id]; t != nil {
		w.release(t, nil)
		t.dropped = true
		delete(w.trees, id)
	}
}

// release ends the watches of t except those in kept.
func (w *Watcher) release(t *tree, kept map[int32]bool) {
	for watch := range t.watched {
		if kept[watch] {
			continue
		}
		delete(t.watched, watch)
		others := slices.DeleteFunc(w.watchers[watch], func(other *tree) bool { return other == t })
		w.watchers[watch] = others
		if len(others) == 0 {
			delete(w.watchers, watch)
			if w.file != nil {
				_, _ = unix.InotifyRmWatch(w.fd, uint32(watch)) // it may have ended by itself
			}
		}
	}
}

// Close ends all watches, and blocks until no goroutine of the Watcher runs.
func (w *Watcher) Close() {
	w.mu.Lock()
	file := w.file
	w.file, w.failed = nil, os.ErrClosed
	w.trees, w.watchers = map[string]*tree{}, map[int32][]*tree{}
	w.mu.Unlock()
	if file != nil {
		close(w.closed)
		_ = file.Close() // wakes read
	}
	w.reading.Wait()
}
