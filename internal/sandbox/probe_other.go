//go:build !linux && !darwin

package sandbox

// Probe says that this system has no method.
func Probe() Support {
	return Support{NoSeatbelt: "this system has no sandbox that middleman can use: use none"}
}

// WithoutSockets reports that no sandboxed program here lacks Unix sockets.
func WithoutSockets() bool { return false }
