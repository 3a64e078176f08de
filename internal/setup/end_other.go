//go:build !linux

package setup

// End does nothing: this system shows no environments, so what has left the
// group of its command is not found.
func End(string) error { return nil }
