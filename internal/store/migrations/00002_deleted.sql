-- Workspaces that a restore can bring back. Their names are free for others.

-- +goose Up
CREATE TABLE deleted_workspaces (
    id          TEXT    PRIMARY KEY,
    name        TEXT    NOT NULL,
    mode        TEXT    NOT NULL,
    root        TEXT    NOT NULL,
    subdir      TEXT    NOT NULL,
    repository  TEXT    NOT NULL,
    git_dir     TEXT    NOT NULL,
    branch      TEXT    NOT NULL,
    base        TEXT    NOT NULL,
    base_commit TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    deleted_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX deleted_workspaces_by_time ON deleted_workspaces (deleted_at, id);
