-- The server's private keys are kept by name, and browsers are sent notices.

-- +goose Up
CREATE TABLE keys (
    name TEXT PRIMARY KEY,
    key  BLOB NOT NULL -- private
) STRICT;
INSERT INTO keys (name, key) SELECT 'server', key FROM server_key;
DROP TABLE server_key;

-- A browser's Web Push subscription ends with its login.
CREATE TABLE push_subscriptions (
    login      TEXT    PRIMARY KEY REFERENCES logins (id) ON DELETE CASCADE,
    endpoint   TEXT    NOT NULL UNIQUE,
    key        BLOB    NOT NULL, -- the browser's, public
    auth       BLOB    NOT NULL,
    content    INTEGER NOT NULL, -- whether names and reasons are sent
    created_at INTEGER NOT NULL
) STRICT;
