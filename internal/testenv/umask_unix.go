//go:build unix

package testenv

import "syscall"

// Directories that tests make are not writable by a group, whatever the umask
// of who runs them: state is refused in such ones.
func init() { syscall.Umask(0o022) }
