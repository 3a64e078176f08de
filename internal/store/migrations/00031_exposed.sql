-- The directories that sandboxed programs could write to. What they have put there
-- outlives their sessions, and so does what runs under Landlock.

-- +goose Up
CREATE TABLE exposed (
    path      TEXT    NOT NULL, -- without links
    method    TEXT    NOT NULL,
    boot      TEXT    NOT NULL, -- of the machine; '' until the next server says which it is
    session   TEXT    NOT NULL, -- the id of the last one
    workspace TEXT    NOT NULL, -- its name
    at        INTEGER NOT NULL,
    PRIMARY KEY (path, method) -- the newest boot replaces an older one
) STRICT;
INSERT INTO exposed
SELECT dir.value, json_extract(s.sandbox, '$.method'), '', s.id, s.workspace, max(s.created_at)
FROM (
    SELECT sessions.id, sandbox, workspaces.name AS workspace, sessions.created_at FROM sessions JOIN workspaces ON workspaces.id = workspace_id
    UNION ALL
    SELECT deleted_sessions.id, sandbox, deleted_workspaces.name, deleted_sessions.created_at FROM deleted_sessions JOIN deleted_workspaces ON deleted_workspaces.id = workspace_id
) AS s, json_each(s.sandbox, '$.writable') AS dir
WHERE s.sandbox <> '' GROUP BY 1, 2;
