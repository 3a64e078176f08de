package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"middleman/internal/testenv"
	"middleman/internal/watch"
)

// The events are read even if nobody asks, so that the queue does not overflow.
func TestEventsAreRead(t *testing.T) {
	w, dir := watch.New(watch.Limits{Total: 10, Tree: 10}), t.TempDir()
	defer w.Close()
	mark, err := w.Arm(context.Background(), "w", func() (watch.Tree, error) { return watch.Tree{Root: dir}, nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, time.Minute, "the event was read", func() bool { return w.Moment("w") != mark })
}
