-- The profile that a session was started with, and the id of its program's
-- conversation.

-- +goose Up
ALTER TABLE sessions ADD COLUMN profile TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN conversation TEXT NOT NULL DEFAULT '';
ALTER TABLE deleted_sessions ADD COLUMN profile TEXT NOT NULL DEFAULT '';
ALTER TABLE deleted_sessions ADD COLUMN conversation TEXT NOT NULL DEFAULT '';
