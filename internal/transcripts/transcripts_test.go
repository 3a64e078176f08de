package transcripts

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"middleman/internal/store"
	_ "middleman/internal/testenv" // sets the umask
	"middleman/terminal"
)

func TestExcess(t *testing.T) {
	at := func(n int64) time.Time { return time.Unix(n, 0) }
	one := func(id string, deleted, created, bytes int64) store.Transcript {
		return store.Transcript{Session: store.Session{ID: id, WorkspaceID: fmt.Sprint("w", deleted), CreatedAt: at(created)}, Bytes: bytes, DeletedAt: at(deleted)}
	}
	list := []store.Transcript{one("new", 30, 1, 10), one("old2", 10, 6, 10), one("mid", 20, 9, 10), one("old1", 10, 5, 10)}
	for _, tt := range []struct {
		budget int64
		want   []string
	}{
		{-1, nil}, {40, nil}, {39, []string{"old1"}}, {30, []string{"old1"}}, {29, []string{"old1", "old2"}},
		{10, []string{"old1", "old2", "mid"}}, {9, []string{"old1", "old2", "mid", "new"}}, {0, []string{"old1", "old2", "mid", "new"}},
	} {
		var got []string
		for _, x := range (&Keeper{Budget: tt.budget}).excess(slices.Clone(list)) {
			got = append(got, x.ID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("budget %d: %v go, want %v", tt.budget, got, tt.want)
		}
	}
	huge := []store.Transcript{one("a", 1, 1, math.MaxInt64), one("b", 2, 1, math.MaxInt64)}
	if got := (&Keeper{Budget: math.MaxInt64}).excess(huge); len(got) != 0 {
		t.Errorf("of two that cannot be added up, %d go", len(got)) // both are at the limit, none is beyond it
	}
}

// Only what is in the state directory counts, in whole blocks.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, n int64) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, n); err != nil {
			t.Fatal(err)
		}
	}
	id, link := terminal.NewID("s"), terminal.NewID("s")
	write(id+"/journal/0.log", 4097)
	write(id+"/exit.json", 1)
	write("outside", 1<<30)
	if err := os.Symlink(filepath.Join(dir, "outside"), filepath.Join(dir, id, "screen.ans")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, id), filepath.Join(dir, link)); err != nil {
		t.Fatal(err)
	}
	var rows []store.Session
	for _, id := range []string{id, link, terminal.NewID("s"), "outside", "../x", ""} {
		rows = append(rows, store.Session{ID: id})
	}
	got := (&Keeper{Dir: dir}).Measure(rows)
	if want := int64(2*block + 2*block + block); len(got) != 1 || got[id] != want { // two directories, two files
		t.Errorf("got %v, want %d for %s", got, want, id)
	}
}
