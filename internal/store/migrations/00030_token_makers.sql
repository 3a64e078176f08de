-- A token ends with what made it: with the login of a browser that is revoked, or with
-- the token that made it. Of older tokens nobody knows who made them.

-- +goose Up
-- The login whose browser made it, or made the token that made it; '' for a process of
-- this user. The login may have ended by itself.
ALTER TABLE tokens ADD COLUMN login TEXT NOT NULL DEFAULT '';
-- The id of the token that made it, '' for none.
ALTER TABLE tokens ADD COLUMN made_by TEXT NOT NULL DEFAULT '';
