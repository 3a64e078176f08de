-- What the user agreed to, beside its hash: it is used when the file is another
-- by then, or gone.

-- +goose Up
ALTER TABLE trusted_configs ADD COLUMN content BLOB NOT NULL DEFAULT x'';
