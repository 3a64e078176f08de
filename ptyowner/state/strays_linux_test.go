package state

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"middleman/internal/private"
	"middleman/terminal"
)

// Something in the sandbox lives and is not found: that is an error, whatever process is
// named, and the process is not touched.
func TestUnknownInASandbox(t *testing.T) {
	d := Dir{ID: "s1", Path: t.TempDir()}
	lock, err := private.TryLockFile(d.File("sandbox.lock"))
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("cat")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.File("sandbox.json"), fmt.Appendf(nil, `{"child-pid": %d}`, other.Process.Pid), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, look := range map[string]func() error{
		"look": func() error { _, err := d.Strays(); return err },
		"stop": func() error { return d.StopStrays(0) },
	} {
		if left, ok := errors.AsType[*terminal.LeftoverError](look()); !ok || len(left.PIDs) > 0 {
			t.Errorf("%s: %v", name, left)
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := d.Strays(); len(left) > 0 || err != nil {
		t.Errorf("with a free lock: %v, %v", left, err)
	}
	in.Close()
	if err := other.Wait(); err != nil {
		t.Errorf("another process: %v", err)
	}
}
