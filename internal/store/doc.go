// Package store keeps the server's records in one SQLite file: workspaces and
// their stages, sessions and their backends, tokens and logins, trusted
// configurations, and the answers to requests that may be repeated. The records
// of workers (Tombstones) are files of their own.
//
// Sessions and worktrees can be found again on disk without the database. So a
// damaged or newer file is refused, with advice, and never silently repaired,
// deleted or migrated. Secrets of tokens and login links are stored only as
// SHA-256 hashes. One process, the server, opens it for writing; any number may
// read.
package store
