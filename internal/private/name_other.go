//go:build !linux

package private

// NameProcess does nothing: on this system, a process has its executable's name.
func NameProcess() {}
