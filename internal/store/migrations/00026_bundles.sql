-- Bundles by digest, and what a session keeps of the one that it was started with, as
-- JSON of bundle.Launched; '' for none.

-- +goose Up
CREATE TABLE bundles (
    digest    TEXT    PRIMARY KEY,
    id        TEXT    NOT NULL,
    revision  INTEGER NOT NULL,
    content   BLOB    NOT NULL, -- the canonical form
    stored_at INTEGER NOT NULL,
    UNIQUE (id, revision)
) STRICT;
ALTER TABLE sessions ADD COLUMN bundle TEXT NOT NULL DEFAULT '';
ALTER TABLE deleted_sessions ADD COLUMN bundle TEXT NOT NULL DEFAULT '';
