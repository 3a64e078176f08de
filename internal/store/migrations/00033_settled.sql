-- Whether a session's end needs nobody any more: its conversation was taken up again,
-- another session was started in its place, or it was stopped since. What ended before
-- this was known needs nobody.

-- +goose Up
ALTER TABLE sessions ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deleted_sessions ADD COLUMN settled INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET settled = 1 WHERE state IN ('exited', 'failed', 'lost');
UPDATE deleted_sessions SET settled = 1;
