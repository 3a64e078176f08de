-- The base directory of a workspace that the user named when it was made; '' is our own.

-- +goose Up
ALTER TABLE workspaces ADD COLUMN base_dir TEXT NOT NULL DEFAULT '';
ALTER TABLE deleted_workspaces ADD COLUMN base_dir TEXT NOT NULL DEFAULT '';
