package app

import (
	"errors"
	"path/filepath"
	"testing"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/terminal"
)

// A session has so many live workers and no more; one that has ended makes
// room, also after a restart.
func TestLiveWorkersAreBounded(t *testing.T) {
	k := &workers{files: store.Tombstones{Dir: filepath.Join(t.TempDir(), "workers")}}
	if err := k.load(); err != nil {
		t.Fatal(err)
	}
	add := func() (string, error) {
		x := store.Tombstone{ID: terminal.NewID("s"), Parent: "p", State: terminal.StateStarting}
		return x.ID, k.add(x)
	}
	var last string
	for range maxWorkers {
		id, err := add()
		if err != nil {
			t.Fatal(err)
		}
		last = id
	}
	if err := k.load(); err != nil {
		t.Fatal(err)
	}
	_, err := add()
	if p, ok := errors.AsType[*Refusal](err); !ok || p.Code != api.CodeTooManyWorkers {
		t.Errorf("one more: %v", err)
	}
	if done, err := k.update(last, failed("it was")); !done || err != nil {
		t.Errorf("%v, %v", done, err)
	}
	if done, err := k.update(last, failed("again")); done || err != nil {
		t.Errorf("a tombstone is complete once: %v, %v", done, err)
	}
	if _, err := add(); err != nil {
		t.Errorf("after an end: %v", err)
	}
}
