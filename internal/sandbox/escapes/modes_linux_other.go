//go:build linux && !amd64

package escapes

// oldRights are such attempts by calls that newer architectures do not have.
func oldRights() []attempt { return nil }
