// Package model holds the types that the sub-packages of package workspace
// share: the record of a workspace, what a delete would destroy, progress
// stages, the names that mark things as ours, and the errors that callers
// branch on. It runs nothing and touches no file. Package workspace gives its
// types and errors the same names.
package model
