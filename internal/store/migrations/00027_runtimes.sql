-- How remote runtimes are reached. No secret is in it: a token stays in its file.

-- +goose Up
CREATE TABLE runtimes (
	name       TEXT PRIMARY KEY,
	address    TEXT NOT NULL,
	pin        TEXT NOT NULL,
	token_file TEXT NOT NULL,
	command    TEXT NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;
