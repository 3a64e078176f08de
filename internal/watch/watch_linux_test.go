package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched is a tree under test.
type watched struct {
	*testing.T
	*Watcher
	root string
	skip map[string]bool
	also []string
	asks int // how often Arm asked what to watch
	mark Mark
}

func newWatched(t *testing.T, l Limits, dirs ...string) *watched {
	t.Helper()
	w := &watched{T: t, Watcher: New(l), root: t.TempDir()}
	t.Cleanup(w.Close)
	for _, dir := range dirs {
		w.mkdir(dir)
	}
	return w
}

func (w *watched) at(name string) string { return filepath.Join(w.root, name) }

func (w *watched) mkdir(name string) {
	w.Helper()
	if err := os.MkdirAll(w.at(name), 0o700); err != nil {
		w.Fatal(err)
	}
}

func (w *watched) write(name string) {
	w.Helper()
	if err := os.WriteFile(w.at(name), []byte("x"), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *watched) arm() error {
	var err error
	w.mark, err = w.Arm(context.Background(), "w", func() (Tree, error) {
		w.asks++
		return Tree{Root: w.root, Skip: w.skip, Also: w.also}, nil
	})
	return err
}

// armed arms the tree, which must be unchanged then.
func (w *watched) armed() {
	w.Helper()
	if err := w.arm(); err != nil {
		w.Fatal(err)
	}
	w.quiet("just armed")
}

func (w *watched) quiet(what string) {
	w.Helper()
	if !w.Unchanged("w", w.mark) {
		w.Errorf("%s: it has changed", what)
	}
}

func (w *watched) loud(what string) {
	w.Helper()
	if w.Unchanged("w", w.mark) {
		w.Errorf("%s: it has not changed", what)
	}
}

// watches counts the watches that the kernel has.
func (w *watched) watches() int {
	w.Helper()
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", w.fd))
	if err != nil {
		w.Fatal(err)
	}
	return strings.Count(string(info), "inotify wd:")
}

var wide = Limits{Total: 1000, Tree: 100}

// Each change is seen at once, at any depth, and after a change a tree is whole
// again when it was armed.
func TestChanges(t *testing.T) {
	w := newWatched(t, wide, "a/b/c", "moved/deep", "gone/deep")
	w.write("a/b/c/file")
	w.armed()
	for _, step := range []struct {
		name string
		do   func() error
		asks int // how often the tree is asked for
	}{
		{"a deep file is written", func() error { return os.WriteFile(w.at("a/b/c/file"), []byte("y"), 0) }, 0},
		{"its mode changes", func() error { return os.Chmod(w.at("a/b/c/file"), 0o700) }, 0},
		{"a file appears", func() error { return os.WriteFile(w.at("a/b/new"), nil, 0o600) }, 0},
		{"a file is renamed", func() error { return os.Rename(w.at("a/b/new"), w.at("a/new")) }, 0},
		{"a file is deleted", func() error { return os.Remove(w.at("a/new")) }, 0},
		{"a directory appears", func() error { return os.MkdirAll(w.at("a/n/m"), 0o700) }, 1},
		{"a file in the directory that appeared", func() error { return os.WriteFile(w.at("a/n/m/file"), nil, 0o600) }, 0},
		{"a directory moves", func() error { return os.Rename(w.at("moved"), w.at("a/moved")) }, 1},
		{"a file in the directory that moved", func() error { return os.WriteFile(w.at("a/moved/deep/file"), nil, 0o600) }, 0},
		{"a directory is deleted", func() error { return os.RemoveAll(w.at("gone")) }, 1},
		{"the ignored files change", func() error { return os.WriteFile(w.at("a/.gitignore"), nil, 0o600) }, 1},
	} {
		before := w.asks
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		w.loud(step.name)
		w.armed()
		if w.asks != before+step.asks {
			t.Errorf("%s: it was asked for %d times, want %d", step.name, w.asks-before, step.asks)
		}
	}
}

// What is skipped is not watched, what is named besides is without what is below
// it, and of a repository in the tree the git directory is.
func TestWhatIsWatched(t *testing.T) {
	w := newWatched(t, wide, "a", "node_modules/x", "a/ignored", "sub", "modules/sub/objects", "own/.git/objects")
	beside := t.TempDir()
	if err := os.WriteFile(w.at("sub/.git"), []byte("gitdir: "+beside+"/modules/sub\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(beside+"/modules/sub/objects", 0o700); err != nil {
		t.Fatal(err)
	}
	w.skip, w.also = map[string]bool{"node_modules": true, "a/ignored": true}, []string{beside, beside + "/missing"}
	w.armed()
	for name, seen := range map[string]bool{
		w.at("node_modules/x/f"): false, w.at("node_modules/f"): false, w.at("a/ignored/f"): false, w.at("a/f"): true,
		beside + "/f": true, beside + "/modules/f": false, beside + "/modules/sub/HEAD": true, beside + "/modules/sub/objects/f": false,
		w.at("own/.git/HEAD"): true, w.at("own/.git/objects/f"): false,
	} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if w.Unchanged("w", w.mark) == seen {
			t.Errorf("%s: seen is not %v", name, seen)
		}
		w.armed()
	}
}

// A tree that is larger than a limit has no watches, and is left alone after that.
func TestLimits(t *testing.T) {
	for _, l := range []Limits{{Total: 100, Tree: 3}, {Total: 3, Tree: 100}} {
		w := newWatched(t, l, "a", "b")
		w.armed()
		w.mkdir("c")
		if err := w.arm(); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%+v: %v", l, err)
		}
		w.loud("too large")
		if n := w.watches(); n != 0 {
			t.Errorf("%+v: %d watches left", l, n)
		}
		asks := w.asks
		if err := w.arm(); !errors.Is(err, ErrTooLarge) || w.asks != asks {
			t.Errorf("%+v: asked %d times more, %v", l, w.asks-asks, err)
		}
	}
	off := newWatched(t, Limits{})
	if err := off.arm(); err == nil || off.asks != 0 {
		t.Errorf("without any: %v", err)
	}
}

// Trees that overlap share watches; the last one that is dropped ends them.
func TestTreesThatOverlap(t *testing.T) {
	w := newWatched(t, wide, "a/b")
	w.armed()
	inner, err := w.Arm(context.Background(), "inner", func() (Tree, error) { return Tree{Root: w.at("a")}, nil })
	if err != nil || w.watches() != 3 {
		t.Fatalf("%d watches, %v", w.watches(), err)
	}
	w.Drop("w")
	w.loud("dropped")
	if n := w.watches(); n != 2 {
		t.Errorf("%d watches after the first was dropped", n)
	}
	if !w.Unchanged("inner", inner) {
		t.Error("the other one has changed")
	}
	w.write("a/b/file")
	if w.Unchanged("inner", inner) {
		t.Error("the other one sees nothing any more")
	}
	w.Drop("inner")
	if n := w.watches(); n != 0 {
		t.Errorf("%d watches after the last was dropped", n)
	}
}

// A directory that is replaced by a link is not followed, a FIFO keeps nothing
// waiting, and another directory at the root's place is noticed.
func TestHostileTree(t *testing.T) {
	w := newWatched(t, wide, "a/b")
	elsewhere := t.TempDir()
	if err := errors.Join(os.Symlink(elsewhere, w.at("link")), unix.Mkfifo(w.at("fifo"), 0o600),
		os.Symlink("..", w.at("a/up")), os.WriteFile(w.at("a/.git"), []byte("gitdir: "+elsewhere+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	w.armed()
	if n := w.watches(); n != 3 {
		t.Errorf("%d watches", n)
	}
	if err := errors.Join(os.RemoveAll(w.at("a/b")), os.Symlink(elsewhere, w.at("a/b"))); err != nil {
		t.Fatal(err)
	}
	w.loud("replaced by a link")
	w.armed()
	if err := os.WriteFile(elsewhere+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.quiet("a change at the other end of a link")
	aside := w.root + "-aside"
	if err := errors.Join(os.Rename(w.root, aside), os.Mkdir(w.root, 0o700)); err != nil {
		t.Fatal(err)
	}
	w.loud("another root")
	w.armed()
	w.write("file")
	w.loud("in the other root")
}

// Events that are lost have all trees changed, and walked anew.
func TestOverflow(t *testing.T) {
	raw, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Skip(err)
	}
	var queued int
	if _, err := fmt.Sscan(string(raw), &queued); err != nil || queued > 1<<17 {
		t.Skipf("the queue has %d events", queued)
	}
	w := newWatched(t, wide, "a", "b")
	w.armed()
	asks := w.asks
	w.mu.Lock() // nobody reads
	w.write("a/one")
	w.write("a/two")
	for i := range queued { // equal events in a row would become one
		if err := os.Chmod(w.at([]string{"a/one", "a/two"}[i%2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.write("b/lost")
	w.mu.Unlock()
	w.loud("after an overflow")
	w.armed()
	if w.asks != asks+1 {
		t.Errorf("walked %d times", w.asks-asks)
	}
	w.write("b/lost")
	w.loud("after the walk")
}

// A walk that is cut short does not count, and the next one does.
func TestArmInterrupted(t *testing.T) {
	w := newWatched(t, wide, "a")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if mark, err := w.Arm(ctx, "w", func() (Tree, error) { return Tree{Root: w.root}, nil }); err == nil || w.Unchanged("w", mark) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := w.Arm(context.Background(), "w", func() (Tree, error) { return Tree{}, os.ErrInvalid }); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("nobody knows what to watch: %v", err)
	}
	w.armed()
	// A tree that is dropped while it is walked leaves no watches.
	_, err := w.Arm(context.Background(), "x", func() (Tree, error) { w.Drop("x"); return Tree{Root: t.TempDir()}, nil })
	if err == nil || w.watches() != 2 {
		t.Errorf("dropped meanwhile: %d watches, %v", w.watches(), err)
	}
}

// FuzzEvents: whatever bytes there are, the events lie in them.
func FuzzEvents(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 'n', 'a', 'm', 'e', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0x40, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		size := 0
		each(raw, func(e event) {
			size += unix.SizeofInotifyEvent + len(e.name)
			if strings.Contains(e.name, "\x00") {
				t.Errorf("name %q", e.name)
			}
		})
		if size > len(raw) {
			t.Errorf("%d bytes of events in %d bytes", size, len(raw))
		}
	})
}

// Moment is the mark of the last event of a tree that was read.
func (w *Watcher) Moment(id string) Mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trees[id].mark
}
