// Package quarantine gives the sandboxed sessions of a workspace a git directory of
// their own, and brings what they commit into the user's repository.
//
// The private directory begins with the refs of the repository, its harmless settings
// and the state of the checkout. Its objects are alternates that lead to those of the
// repository, read-only. In the sandbox it lies at the place of the repository's own, so
// git works there as usual and reaches nothing of the user's. One workspace has one
// private directory, however many sessions.
//
// Everything in it is hostile: a program in the sandbox can write there what it wants.
// So git reads it within a sandbox alone, and what comes out is checked: names by their
// form, objects by git index-pack --strict, their completeness by a walk. Import then
// moves the workspace's own branch, by compare and swap. All else that is new is kept by
// refs below refs/middleman/sandbox/ID/. Nothing that the user's repository has is
// overwritten or removed, and no hook runs.
//
// This package never starts a session and knows no database.
package quarantine
