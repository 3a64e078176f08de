package server

import (
	"middleman/internal/audit"
	"middleman/internal/private"
)

// nameSelf adds this process's user, who is that of the pipe's peer too.
func nameSelf(by *audit.By) {
	if own, err := private.OwnSID(); err == nil {
		by.SID = own.String()
	}
}
