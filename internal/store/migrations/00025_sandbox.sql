-- What the sandbox of a session does, as JSON of sandbox.Applied; '' for none.

-- +goose Up
ALTER TABLE sessions ADD COLUMN sandbox TEXT NOT NULL DEFAULT '';
ALTER TABLE deleted_sessions ADD COLUMN sandbox TEXT NOT NULL DEFAULT '';
