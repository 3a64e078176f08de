//go:build !linux

package systemd

// UnitOf returns the zero Unit: there is no systemd here.
func UnitOf(int) (Unit, error) { return Unit{}, nil }

// Booted returns false: there is no systemd here.
func Booted() bool { return false }
