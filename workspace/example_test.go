package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"middleman/workspace"
)

func ExampleSlug() {
	slug, err := workspace.Slug("Fix the login")
	fmt.Println(slug, err)
	_, err = workspace.Slug("../etc")
	fmt.Println(errors.Is(err, workspace.ErrBadName))
	// Output:
	// fix-the-login <nil>
	// true
}

// A worktree on a branch of its own, which goes again unless it holds work.
func ExampleManager() {
	ctx := context.Background()
	m := workspace.New(workspace.Options{Base: "/home/me/.local/share/middleman/work"})
	w, err := m.Create(ctx, workspace.CreateRequest{
		ID: "w1", Name: "fix-login", Mode: workspace.ModeWorktree, Directory: "/home/me/src/app",
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Root, "on", w.Branch)
	_, err = m.Delete(ctx, w, false, nil)
	if refused, ok := errors.AsType[*workspace.WorkError](err); ok {
		fmt.Println("kept, it holds", refused.Loss.Summary())
	}
}
