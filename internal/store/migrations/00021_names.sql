-- A workspace's name is unique in its repository. It was unique among all. SQLite
-- cannot drop a constraint, so the table is made again, and the tables that
-- refer to it with it: dropping it would empty them.

-- +goose Up
CREATE TABLE workspaces_2 (
    id             TEXT    PRIMARY KEY,
    name           TEXT    NOT NULL,
    named_in       TEXT    NOT NULL, -- the git directory of its repository, '' for none
    mode           TEXT    NOT NULL,
    root           TEXT    NOT NULL,
    subdir         TEXT    NOT NULL,
    repository     TEXT    NOT NULL,
    git_dir        TEXT    NOT NULL,
    branch         TEXT    NOT NULL,
    base           TEXT    NOT NULL,
    base_commit    TEXT    NOT NULL,
    state          TEXT    NOT NULL,
    error          TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    parent         TEXT    NOT NULL,
    parent_session TEXT    NOT NULL,
    port           INTEGER NOT NULL,
    ports          INTEGER NOT NULL,
    config_hash    TEXT    NOT NULL,
    ephemeral      INTEGER NOT NULL,
    own_branch     INTEGER NOT NULL,
    restore_from   TEXT    NOT NULL,
    tip            TEXT    NOT NULL,
    UNIQUE (named_in, name)
) STRICT;
INSERT INTO workspaces_2
    SELECT id, name, git_dir, mode, root, subdir, repository, git_dir, branch, base, base_commit, state, error, created_at,
        parent, parent_session, port, ports, config_hash, ephemeral, own_branch, restore_from, tip
    FROM workspaces;

CREATE TABLE stages_2 (
    seq          INTEGER PRIMARY KEY,
    workspace_id TEXT    NOT NULL REFERENCES workspaces_2 (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    detail       TEXT    NOT NULL,
    time         INTEGER NOT NULL
) STRICT;
INSERT INTO stages_2 SELECT seq, workspace_id, name, state, detail, time FROM stages;

CREATE TABLE sessions_2 (
    id           TEXT    PRIMARY KEY,
    workspace_id TEXT    NOT NULL REFERENCES workspaces_2 (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    backend      TEXT    NOT NULL,
    argv         TEXT    NOT NULL, -- JSON array
    dir          TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    error        TEXT    NOT NULL,
    exit         TEXT,             -- JSON of terminal.Exit
    created_at   INTEGER NOT NULL,
    parent       TEXT    NOT NULL,
    profile      TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    UNIQUE (workspace_id, name)
) STRICT;
INSERT INTO sessions_2
    SELECT id, workspace_id, name, backend, argv, dir, state, error, exit, created_at, parent, profile, conversation FROM sessions;

CREATE TABLE creations_2 (
    workspace_id TEXT PRIMARY KEY REFERENCES workspaces_2 (id) ON DELETE CASCADE,
    request      BLOB NOT NULL -- JSON
) STRICT;
INSERT INTO creations_2 SELECT workspace_id, request FROM creations;

DROP TABLE stages;
DROP TABLE sessions;
DROP TABLE creations;
DROP TABLE workspaces;
ALTER TABLE workspaces_2 RENAME TO workspaces;
ALTER TABLE stages_2 RENAME TO stages;
ALTER TABLE sessions_2 RENAME TO sessions;
ALTER TABLE creations_2 RENAME TO creations;
CREATE INDEX workspaces_by_time ON workspaces (created_at, id);
CREATE INDEX stages_by_workspace ON stages (workspace_id, seq);
CREATE INDEX sessions_by_time ON sessions (created_at, id);
CREATE INDEX sessions_by_workspace ON sessions (workspace_id, created_at, id);
