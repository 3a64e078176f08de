package ptyowner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ps and top show an owner under the program's name, however it was executed:
// by a descriptor at its start, by any path at an upgrade.
func TestOwnerIsNamed(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec("echo READY; exec cat")
	start(t, b, s, nil)
	owner := ownerPID(t, data, s.ID)
	named := func(when string) {
		t.Helper()
		if got := strings.TrimSpace(procFile(t, owner, "comm")); got != "middleman" {
			t.Errorf("%s: the owner is called %q", when, got)
		}
	}
	named("at the start")
	image := otherImage(t)
	upgradeOwner(t, b, s.ID, image)
	named("after an upgrade")
	moved := filepath.Join(filepath.Dir(image), "moved")
	if err := os.Rename(image, moved); err != nil {
		t.Fatal(err)
	}
	upgradeOwner(t, b, s.ID, moved)
	named("after another")
}
