-- What a workspace got beside its directory, and who asked for it.

-- +goose Up
ALTER TABLE workspaces ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE workspaces ADD COLUMN parent_session TEXT NOT NULL DEFAULT '';
ALTER TABLE workspaces ADD COLUMN port INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN ports INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN config_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE workspaces ADD COLUMN ephemeral INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deleted_workspaces ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE deleted_workspaces ADD COLUMN parent_session TEXT NOT NULL DEFAULT '';
ALTER TABLE deleted_workspaces ADD COLUMN port INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deleted_workspaces ADD COLUMN ports INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deleted_workspaces ADD COLUMN config_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE deleted_workspaces ADD COLUMN ephemeral INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN parent TEXT NOT NULL DEFAULT '';

-- Content of repository configuration that the user agreed to run.
CREATE TABLE trusted_configs (
    git_dir     TEXT    NOT NULL,
    hash        TEXT    NOT NULL,
    approved_at INTEGER NOT NULL,
    PRIMARY KEY (git_dir, hash)
) STRICT;
