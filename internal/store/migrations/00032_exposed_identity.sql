-- A directory that was moved is still the one that sandboxed programs could write to.

-- +goose Up
CREATE TABLE exposed_new (
    path      TEXT    NOT NULL, -- without links
    method    TEXT    NOT NULL,
    which     TEXT    NOT NULL, -- the identity of the directory; '' for unknown
    boot      TEXT    NOT NULL, -- of the machine; '' until the next server says which it is
    session   TEXT    NOT NULL, -- the id of the last one
    workspace TEXT    NOT NULL, -- its name
    at        INTEGER NOT NULL,
    PRIMARY KEY (path, method, which) -- the newest boot replaces an older one
) STRICT;
INSERT INTO exposed_new SELECT path, method, '', boot, session, workspace, at FROM exposed;
DROP TABLE exposed;
ALTER TABLE exposed_new RENAME TO exposed;
