// Package house tests the repository itself against the rules of its code: the
// import map in ARCHITECTURE.md is what the packages import, functions and
// packages stay small, exported names of internal packages are used by others,
// and what the pages name exists. Each rule is a function of a
// tree, and a test shows it a small tree that breaks it.
package house
