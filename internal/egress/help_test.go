package egress

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// Package testenv has more of these; what it imports imports this package.

func requireTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// privateDir is a directory of this user alone.
func privateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mm-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// eventually waits until done is true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s", what)
		}
	}
}
