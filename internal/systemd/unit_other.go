//go:build !linux

package systemd

// UnitOf returns no unit: there is no systemd here.
func UnitOf(int) (Unit, error) { return Unit{}, nil }

// Booted is false: there is no systemd here.
func Booted() bool { return false }
