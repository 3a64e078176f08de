// Package model holds what every room of package workspace speaks of: the record
// of a workspace, what a delete would destroy, the stages of what takes long,
// the names that mark a thing as ours, and the errors that callers branch on.
// It runs nothing and touches no file. Package workspace gives its types and
// errors again, under the same names.
package model
