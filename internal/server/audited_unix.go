//go:build unix

package server

import (
	"os"

	"middleman/internal/audit"
)

// nameSelf adds this process's user, who is that of the socket's peer too.
func nameSelf(by *audit.By) {
	uid := os.Geteuid()
	by.UID = &uid
}
