-- What was asked for, from before anything is made until all of it is there.

-- +goose Up
CREATE TABLE creations (
    workspace_id TEXT PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    request      BLOB NOT NULL -- JSON
) STRICT;
