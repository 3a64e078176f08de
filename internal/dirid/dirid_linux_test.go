package dirid

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(at("dir"), 0o700))
	must(os.WriteFile(at("file"), nil, 0o600))
	must(os.Symlink("dir", at("link")))
	for _, path := range []string{at("file"), at("link"), at("none"), "", "/proc/self/task"} {
		if which := Of(path); which != "" {
			t.Errorf("%q: %s", path, which)
		}
	}
	was := Of(at("dir"))
	if was == "" {
		t.Skip("this file system records no birth times")
	}
	must(os.Rename(at("dir"), at("moved")))
	if now := Of(at("moved")); now != was {
		t.Errorf("moved: %s, was %s", now, was)
	}
	must(os.Rename(at("moved"), at("dir")))
	// The inode may be the same, and the clock of a file system has ticks of milliseconds.
	for began := time.Now(); ; {
		must(os.Remove(at("dir")))
		must(os.Mkdir(at("dir"), 0o700))
		now := Of(at("dir"))
		if now != was && now != "" {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("made anew: %s, was %s", now, was)
		}
	}
}
