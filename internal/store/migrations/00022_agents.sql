-- The token by which a session's own processes are known, as a hash, and what is
-- known of its program, as JSON of agent.Tracker.

-- +goose Up
CREATE TABLE agents (
	session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
	token BLOB NOT NULL UNIQUE,
	tracker TEXT NOT NULL DEFAULT ''
);
