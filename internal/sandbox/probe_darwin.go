package sandbox

import (
	"sync"

	"middleman/internal/private"
)

// seatbeltPath is the program of macOS that starts others in a sandbox.
const seatbeltPath = "/usr/bin/sandbox-exec"

// Probe finds out once which methods this system has for this user.
var Probe = sync.OnceValue(func() Support {
	f, err := private.OpenExecutable(seatbeltPath)
	if err != nil {
		return Support{NoSeatbelt: "sandbox-exec of macOS cannot be used: " + err.Error()}
	}
	f.Close()
	return Support{Seatbelt: seatbeltPath}
})

// WithoutSockets reports that no sandboxed program here lacks Unix sockets.
func WithoutSockets() bool { return false }
