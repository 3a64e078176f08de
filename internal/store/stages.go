package store

import (
	"context"
	"fmt"

	"middleman/workspace"
)

// LastStage returns the last record of a stage of that name, and false if there
// is none.
func (s *Store) LastStage(ctx context.Context, workspaceID, name string) (workspace.Stage, bool, error) {
	list, err := collect(ctx, s.read, scanStage,
		`SELECT name, state, detail, time FROM stages WHERE workspace_id = ? AND name = ? ORDER BY seq DESC LIMIT 1`, workspaceID, name)
	if err != nil {
		return workspace.Stage{}, false, fmt.Errorf("read stage %s of workspace %s: %w", name, workspaceID, err)
	}
	if len(list) == 0 {
		return workspace.Stage{}, false, nil
	}
	return list[0], true, nil
}

// RunningStages returns the stages of those names that have begun and not ended:
// a map from workspace id to stage name.
func (s *Store) RunningStages(ctx context.Context, names ...string) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range names {
		ids, err := collect(ctx, s.read, scanID, `SELECT workspace_id FROM stages WHERE state = 'running' AND name = ?
			AND seq = (SELECT max(seq) FROM stages AS all_of_it WHERE all_of_it.workspace_id = stages.workspace_id AND all_of_it.name = stages.name)`, name)
		if err != nil {
			return nil, fmt.Errorf("list stages %s that run: %w", name, err)
		}
		for _, id := range ids {
			found[id] = name
		}
	}
	return found, nil
}

func scanID(row scanner) (string, error) {
	var id string
	err := row.Scan(&id)
	return id, err
}
