package app

import (
	"context"

	"middleman/internal/api"
	"middleman/workspace"
)

// stages records the stages of what is done to a workspace.
func (s *App) stages(ctx context.Context, workspaceID string) workspace.Progress {
	return func(stage workspace.Stage) { s.stage(ctx, workspaceID, stage) }
}

// stage records a stage, or how far one is, and tells everybody.
func (s *App) stage(ctx context.Context, workspaceID string, stage workspace.Stage) {
	stage.Detail = s.redact(stage.Detail)
	record := s.Store.AddStage
	if stage.State == "running" && stage.Detail != "" {
		record = s.Store.TellStage
	}
	if err := record(context.WithoutCancel(ctx), workspaceID, stage); err != nil {
		s.Log.Error("record a stage", "workspace", workspaceID, "stage", stage.Name, "error", err)
	}
	view := stageView(stage)
	s.Events.Publish(workspaceID, api.Event{Type: "stage", ID: workspaceID, Stage: &view})
}

// setWorkspaceState records w's state and error and tells everybody.
func (s *App) setWorkspaceState(ctx context.Context, w workspace.Workspace) {
	if err := s.Store.SetWorkspaceState(context.WithoutCancel(ctx), w.ID, w.State, w.Error); err != nil {
		s.Log.Error("record a workspace's state", "workspace", w.ID, "state", w.State, "error", err)
	}
	s.publishWorkspace(w)
}
