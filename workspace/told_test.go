package workspace_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"middleman/workspace"
)

// A delete and a restore of many files say how far they are.
func TestDeleteAndRestoreTell(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	for i := range 250 {
		write(t, fmt.Sprintf("%s/d/%d", w.Root, i), "x")
	}
	told := map[string]string{} // the first of each stage
	listen := func(s workspace.Stage) {
		if s.State == "running" && s.Detail != "" && told[s.Name] == "" {
			told[s.Name] = s.Detail
		}
	}
	if _, err := m.Delete(ctx, w, true, listen); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Restore(ctx, w, listen); err != nil {
		t.Fatal(err)
	}
	for _, stage := range []string{"keep", "files"} {
		if got := told[stage]; !strings.HasPrefix(got, "100 of 25") {
			t.Errorf("stage %s told %q, want 100 of some 250 files", stage, got)
		}
	}
}
