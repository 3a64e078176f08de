-- A browser's login is a key that its origin holds, and no secret of ours.
-- Logins by cookie end: each browser needs a new link, once.

-- +goose Up
DROP TABLE logins;
CREATE TABLE logins (
    id           TEXT    PRIMARY KEY,
    key          BLOB    NOT NULL, -- public
    name         TEXT    NOT NULL,
    user_agent   TEXT    NOT NULL,
    address      TEXT    NOT NULL,
    origin       TEXT    NOT NULL,
    port         INTEGER NOT NULL, -- that the server listened at
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    idle_at      INTEGER NOT NULL, -- expires then unless it is used
    expires_at   INTEGER NOT NULL
) STRICT;

-- What the server proves with, to browsers that have logged in, who it is.
CREATE TABLE server_key (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    key BLOB    NOT NULL -- private
) STRICT;
