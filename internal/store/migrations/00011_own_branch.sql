-- Whether a workspace's branch was made for it, so that a delete may remove it.

-- +goose Up
ALTER TABLE workspaces ADD COLUMN own_branch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deleted_workspaces ADD COLUMN own_branch INTEGER NOT NULL DEFAULT 0;
-- Until now a delete removed branches with our prefix.
UPDATE workspaces SET own_branch = 1 WHERE mode = 'worktree' AND branch LIKE 'middleman/%';
UPDATE deleted_workspaces SET own_branch = 1 WHERE mode = 'worktree' AND branch LIKE 'middleman/%';
