// Package keep keeps what a delete destroys, and brings it back.
//
// A delete that takes anything with it that is nowhere else makes a snapshot
// first (Delete.Keep): a commit at Ref whose manifest lists every file of the
// directory and of git's own directory for the worktree, and whose tree and
// parents hold their content, so that no collection takes it. Where no repository
// can hold it, the directory itself stays under another name. Restore brings all
// of it back, or nothing; killed anywhere, the next one goes on.
//
// A manifest may have been written by anybody who can write to the repository:
// it is held against what a delete writes before anything of it is believed.
package keep
