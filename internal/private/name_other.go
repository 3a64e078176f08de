//go:build !linux

package private

// NameProcess does nothing: processes have their executable's name here.
func NameProcess() {}
