package workspace_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"middleman/workspace"
)

// git status lists nothing of a directory that it cannot open, warns, and ends with 0.
// What it cannot list is not clean: the delete is refused, and takes nothing away. Here it
// is the path that is too long, which keeps root out as well; often it is a directory that
// a container has made as another user.
func TestUnlistedDirectory(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	ctx := context.Background()
	w := create(t, m, request(newRepo(t), "w1"))
	inner, err := os.OpenRoot(w.Root)
	for range 17 { // 4,267 bytes, and PATH_MAX is 4,096
		if err != nil {
			t.Fatal(err)
		}
		outer, name := inner, strings.Repeat("d", 250)
		if err = outer.Mkdir(name, 0o700); err == nil {
			inner, err = outer.OpenRoot(name)
		}
		outer.Close()
	}
	if err == nil {
		err = inner.WriteFile("work", []byte("mine\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	if _, err := m.Inspect(ctx, w); err == nil || !strings.Contains(err.Error(), "could not open directory") || len(err.Error()) > 2000 {
		t.Errorf("inspect: %v", err)
	}
	if s, err := m.Status(ctx, w); err == nil && (s.Files != nil || len(s.Unknown) == 0) {
		t.Errorf("its status is %+v", s)
	}
	if _, err := m.Delete(ctx, w, false, nil); !errors.Is(err, workspace.ErrUnknown) {
		t.Errorf("delete: %v", err)
	}
	if _, err := m.Delete(ctx, w, true, nil); err == nil {
		t.Log("it was kept and deleted")
	} else if text, err := inner.ReadFile("work"); err != nil || string(text) != "mine\n" {
		t.Errorf("after a delete that failed: %q, %v", text, err)
	}
}
