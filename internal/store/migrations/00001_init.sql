-- Times are nanoseconds since 1970 in UTC.

-- +goose Up
CREATE TABLE workspaces (
    id          TEXT    PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    mode        TEXT    NOT NULL,
    root        TEXT    NOT NULL,
    subdir      TEXT    NOT NULL,
    repository  TEXT    NOT NULL,
    git_dir     TEXT    NOT NULL,
    branch      TEXT    NOT NULL,
    base        TEXT    NOT NULL,
    base_commit TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    error       TEXT    NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX workspaces_by_time ON workspaces (created_at, id);

CREATE TABLE stages (
    seq          INTEGER PRIMARY KEY,
    workspace_id TEXT    NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    detail       TEXT    NOT NULL,
    time         INTEGER NOT NULL
) STRICT;
CREATE INDEX stages_by_workspace ON stages (workspace_id, seq);

CREATE TABLE sessions (
    id           TEXT    PRIMARY KEY,
    workspace_id TEXT    NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    backend      TEXT    NOT NULL,
    argv         TEXT    NOT NULL, -- JSON array
    dir          TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    error        TEXT    NOT NULL,
    exit         TEXT,             -- JSON of terminal.Exit
    created_at   INTEGER NOT NULL,
    UNIQUE (workspace_id, name)
) STRICT;
CREATE INDEX sessions_by_time ON sessions (created_at, id);
CREATE INDEX sessions_by_workspace ON sessions (workspace_id, created_at, id);

CREATE TABLE tokens (
    id           TEXT    PRIMARY KEY,
    hash         BLOB    NOT NULL UNIQUE, -- SHA-256 of the secret
    label        TEXT    NOT NULL,
    scope        TEXT    NOT NULL,
    session_id   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER
) STRICT;

CREATE TABLE login_links (
    hash       BLOB    PRIMARY KEY,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE logins (
    hash       BLOB    PRIMARY KEY,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency_keys (
    key          TEXT    NOT NULL,
    route        TEXT    NOT NULL,
    request_hash BLOB    NOT NULL,
    status       INTEGER,          -- NULL while the request is being answered
    body         BLOB,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (key, route)
) STRICT;
