//go:build !linux

package proc

// Inside returns nothing: on this system it is not known which processes are in a
// directory.
func Inside(string, ...string) []int { return nil }
