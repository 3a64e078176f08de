package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A chain of processes, of which each starts the next one and ends, is found.
// Others that start meanwhile are not.
func TestHunt(t *testing.T) {
	dir := t.TempDir()
	gate, runner := filepath.Join(dir, "gate"), filepath.Join(dir, "runner")
	// It ends by itself where the test was killed.
	script := `[ $1 -lt 100000 ] || exit; while [ -e ` + gate + ` ]; do setsid sh ` + runner + ` $(($1+1)) & exit; done` + "\n"
	if err := os.WriteFile(runner, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, ok := Hunt("HUNT_TEST="+dir, 20*time.Millisecond); ok {
		t.Errorf("found %v before anything began", p)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", runner, "0")
	cmd.Env = append(os.Environ(), "HUNT_TEST="+dir)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Remove(gate); err != nil {
			t.Error(err)
		}
		for {
			if _, ok := Hunt("HUNT_TEST="+dir, 20*time.Millisecond); !ok {
				break
			}
		}
	}()
	for range 20 {
		if _, ok := Hunt("HUNT_TEST="+dir, time.Minute); !ok {
			t.Fatal("the chain was not found")
		}
	}
	if p, ok := Hunt("HUNT_TEST="+dir+"x", 20*time.Millisecond); ok {
		t.Errorf("found %v, which has another environment", p)
	}
}
