-- What agents have asked to be allowed, and who decided. A record outlives its
-- session.

-- +goose Up
CREATE TABLE approvals (
    id           TEXT    PRIMARY KEY,
    session_id   TEXT    NOT NULL,
    workspace_id TEXT    NOT NULL,
    session      TEXT    NOT NULL, -- what the session was called then
    agent        TEXT    NOT NULL,
    tool         TEXT    NOT NULL,
    summary      TEXT    NOT NULL,
    arguments    TEXT    NOT NULL, -- JSON, of what was allowed by a rule only the beginning
    diff         TEXT    NOT NULL,
    digest       BLOB    NOT NULL, -- of the tool and all of its arguments
    decision     TEXT    NOT NULL, -- '' while it waits, allow, deny, none
    rule         TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    decided_by   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    decided_at   INTEGER NOT NULL -- 0 while it waits
) STRICT;
CREATE INDEX approvals_by_time ON approvals (created_at, id);
CREATE INDEX approvals_by_session ON approvals (session_id, digest);
CREATE INDEX approvals_waiting ON approvals (created_at) WHERE decision = '';
