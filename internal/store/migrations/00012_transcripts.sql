-- Sessions of deleted workspaces, whose state directories are kept.

-- +goose Up
ALTER TABLE workspaces ADD COLUMN restore_from TEXT NOT NULL DEFAULT '';
ALTER TABLE workspaces ADD COLUMN tip TEXT NOT NULL DEFAULT '';
ALTER TABLE deleted_workspaces ADD COLUMN restore_from TEXT NOT NULL DEFAULT '';
ALTER TABLE deleted_workspaces ADD COLUMN tip TEXT NOT NULL DEFAULT '';

CREATE TABLE deleted_sessions (
    id           TEXT    PRIMARY KEY,
    workspace_id TEXT    NOT NULL REFERENCES deleted_workspaces (id),
    name         TEXT    NOT NULL,
    backend      TEXT    NOT NULL,
    argv         TEXT    NOT NULL, -- JSON array
    dir          TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    error        TEXT    NOT NULL,
    exit         TEXT,             -- JSON of terminal.Exit
    created_at   INTEGER NOT NULL,
    parent       TEXT    NOT NULL,
    bytes        INTEGER NOT NULL, -- that its state directory takes on disk
    UNIQUE (workspace_id, name)
) STRICT;
CREATE INDEX deleted_sessions_by_time ON deleted_sessions (created_at, id);
