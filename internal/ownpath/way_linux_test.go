package ownpath

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"middleman/internal/dirid"
)

// What is open is known by its path, and wherever it was moved by its identity.
func TestWay(t *testing.T) {
	for _, c := range []struct {
		name            string
		do              func(at func(string) string) error
		path            string // relative; what is open was a/open
		through, around bool
	}{
		{"itself", nil, "a/open", true, true},
		{"in it", nil, "a/open/in", true, false},
		{"above it", nil, "a", false, true},
		{"beside it", nil, "b", false, false},
		{"moved", rename("a/open", "b/new"), "b/new", true, true},
		{"moved, and in it", rename("a/open", "b/new"), "b/new/in", true, false},
		{"moved, and in it what is not there yet", rename("a/open", "b/new"), "b/new/none/x", true, false},
		{"moved, by a link", rename("a/open", "b/new"), "link/new/in", true, false},
		{"moved, and the path from then", rename("a/open", "b/new"), "a/open", true, true},
		{"moved under another name, and above it", rename("a/open", "b/new"), "b", false, false},
		{"moved, and above it", rename("a/open", "b/open"), "b", false, true},
		{"moved parent", rename("a", "c"), "c/open/in", true, false},
		{"moved parent, and above it", rename("a", "c"), "c", false, true},
		{"moved parent, and the path from then", rename("a", "c"), "a", false, true},
		{"made anew", anew, "a/open", true, true},
		{"made anew, then moved", func(at func(string) string) error {
			if err := anew(at); err != nil {
				return err
			}
			return rename("a/open", "b/new")(at)
		}, "b/new", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			at := func(path string) string { return filepath.Join(base, path) }
			for _, dir := range []string{"a/open/in", "b"} {
				if err := os.MkdirAll(at(dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("b", at("link")); err != nil {
				t.Fatal(err)
			}
			o := Open{Dir: at("a/open"), Which: dirid.Of(at("a/open"))}
			if o.Which == "" {
				t.Skip("this file system records no birth times")
			}
			if c.do != nil {
				if err := c.do(at); err != nil {
					t.Fatal(err)
				}
			}
			way := To(at(c.path))
			if through, around := way.Through(o), way.Around(o); through != c.through || around != c.around {
				t.Errorf("through %v, around %v", through, around)
			}
		})
	}
}

func rename(from, to string) func(func(string) string) error {
	return func(at func(string) string) error { return os.Rename(at(from), at(to)) }
}

func anew(at func(string) string) error {
	was, began := dirid.Of(at("a/open")), time.Now()
	for dirid.Of(at("a/open")) == was { // two may be made in one tick of the clock
		if time.Since(began) > time.Minute {
			return errors.New("it stays the same directory")
		}
		if err := errors.Join(os.RemoveAll(at("a/open")), os.Mkdir(at("a/open"), 0o700)); err != nil {
			return err
		}
	}
	return nil
}

// Where no identity is to be had, the path alone counts.
func TestWayWithoutIdentity(t *testing.T) {
	const dir = "/proc/self/task"
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := Open{Dir: real, Which: dirid.Of(real)}
	if o.Which != "" {
		t.Skip("proc records birth times")
	}
	if !To(dir).Through(o) || !To(real).Around(o) || To("/proc/sys").Through(o) || To("/proc/sys").Around(o) {
		t.Error("it is not known by its path alone")
	}
}

// PATH is cleaned of what was moved, as it was given it is known to lead there.
func TestCleanOfMoved(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, moved, links := filepath.Join(base, "work"), filepath.Join(base, "moved"), filepath.Join(base, "links")
	for _, dir := range []string{filepath.Join(work, "bin"), links} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(moved, "git"), filepath.Join(links, "git")); err != nil {
		t.Fatal(err)
	}
	o := Open{Dir: work, Who: "session w/agent", Which: dirid.Of(work)}
	if o.Which == "" {
		t.Skip("this file system records no birth times")
	}
	if err := os.Rename(work, moved); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(moved, "bin"), links} {
		t.Setenv("PATH", dir+":/usr/bin")
		if !Identities()[o.Which] {
			t.Errorf("%s does not lead through it", dir)
		}
		if _, err := Clean([]Open{o}); err != nil || os.Getenv("PATH") != "/usr/bin" {
			t.Errorf("PATH=%s, %v", os.Getenv("PATH"), err)
		}
		if !Identities()[o.Which] {
			t.Errorf("%s did not lead through it", dir)
		}
	}
	t.Setenv("PATH", "/usr/bin:/bin") // not what Clean has set
	if Identities()[o.Which] {
		t.Error("another leads through it")
	}
}
