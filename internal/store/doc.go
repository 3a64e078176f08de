// Package store keeps what users asked for in one SQLite file: workspaces and
// their stages, sessions and their backend, who may log in, and the answers
// to requests that may be repeated.
//
// It is a cache of intent. Sessions and worktrees are found again on disk
// without it, so a damaged or newer file is refused with a way out and never
// repaired, deleted or migrated silently. Secrets are kept as SHA-256 hashes
// only. One process, the server, opens it for writing; any number may read.
package store
