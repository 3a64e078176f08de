package server

import (
	"context"
	"slices"
	"strings"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/workspace"
)

// neighbours are the other live workspaces of w's repository, by their ids.
func (s *App) neighbours(ctx context.Context, w workspace.Workspace) ([]workspace.Workspace, error) {
	list, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	list = slices.DeleteFunc(list, func(other workspace.Workspace) bool {
		return other.ID == w.ID || other.GitDir != w.GitDir || other.State != workspace.StateReady
	})
	slices.SortFunc(list, func(a, b workspace.Workspace) int { return strings.Compare(a.ID, b.ID) })
	return list, err
}

// lookable is a workspace that can be looked at.
func (s *App) lookable(ctx context.Context, id string) (workspace.Workspace, error) {
	w, err := s.Store.Workspace(ctx, id)
	if err == nil && w.State != workspace.StateReady {
		err = Refusef(api.CodeBusy, "workspace %s is %s", w.Name, w.State)
	}
	return w, err
}
