//go:build unix

package admin

import (
	"io/fs"
	"os"
	"syscall"
)

// closedTerminal reports whether others cannot read the terminal. They may write to
// it, as write(1) does.
func closedTerminal(info fs.FileInfo) bool { return info.Mode().Perm()&0o044 == 0 && isOurs(info) }

// closedFile reports whether others can neither read nor write the file.
func closedFile(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 && isOurs(info) }

// isOurs reports whether the file belongs to this user or root: what another one has
// opened, as with `su` or `sudo -u`, that one reads.
func isOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(stat.Uid) == os.Geteuid() || stat.Uid == 0)
}
