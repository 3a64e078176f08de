package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"middleman/workspace"
)

// A file of holes stays one: its copy has the same bytes, and takes no more of the disk.
func TestCopyKeepsHoles(t *testing.T) {
	const size = 5 << 30
	repo := newRepo(t)
	commit(t, repo, ".gitignore", "big\nhole\n")
	for name, at := range map[string][]int64{"big": {0, 3 << 30, size - 4}, "hole": {2 << 20}} {
		f, err := os.Create(filepath.Join(repo, name))
		for _, at := range at {
			if err == nil {
				_, err = f.WriteAt([]byte("data"), at)
			}
		}
		if err == nil && name == "hole" {
			err = f.Truncate(1 << 30)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Skipf("no large file here: %v", err)
		}
	}
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	if stage, err := copyStage(t, m, w, "big", "hole"); err != nil || stage.Detail != "2 files, 6.0 GiB" {
		t.Errorf("%+v, %v", stage, err)
	}
	for name, want := range map[string]int64{"big": size, "hole": 1 << 30} {
		info, err := os.Stat(filepath.Join(w.Root, name))
		if err != nil {
			t.Fatal(err)
		}
		if took := info.Sys().(*syscall.Stat_t).Blocks * 512; info.Size() != want || took > 1<<20 {
			t.Errorf("%s has %d bytes, and takes %d", name, info.Size(), took)
		}
	}
	f, err := os.Open(filepath.Join(w.Root, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for at, want := range map[int64]string{0: "data", 2 << 30: "\x00\x00\x00\x00", 3 << 30: "data", size - 4: "data"} {
		got := make([]byte, 4)
		if _, err := f.ReadAt(got, at); err != nil || string(got) != want {
			t.Errorf("at %d: %q, %v", at, got, err)
		}
	}
}

// A file that is larger than who asked for the copy may write is left out.
func TestCopyBoundsFiles(t *testing.T) {
	repo := newRepo(t)
	commit(t, repo, ".gitignore", "*.log\n")
	write(t, filepath.Join(repo, "small.log"), "four")
	write(t, filepath.Join(repo, "large.log"), "fives")
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	var last workspace.Stage
	err := m.Copy(t.Context(), w, workspace.CopyRequest{Patterns: []string{"*.log"}, FileBytes: 4}, func(s workspace.Stage) { last = s })
	if err != nil || !strings.Contains(last.Detail, "large.log (it has 5 bytes, and the session that asked for this may write 4 bytes to a file") {
		t.Errorf("%+v, %v", last, err)
	}
	same(t, copied(t, w.Root), map[string]string{"small.log": "four"})
}

// A copy ends when it is cancelled, and says why.
func TestCopyEnds(t *testing.T) {
	repo := newRepo(t)
	commit(t, repo, ".gitignore", "*.log\n")
	write(t, filepath.Join(repo, "a.log"), "a")
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("it was ended")
	r := workspace.CopyRequest{Patterns: []string{"*.log"}, Hides: func(string) (string, error) { cancel(why); return "", nil }}
	if err := m.Copy(ctx, w, r, nil); !errors.Is(err, why) {
		t.Error(err)
	}
	same(t, copied(t, w.Root), map[string]string{})
}
