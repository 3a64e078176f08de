//go:build unix && !linux

package host

// AsFromLogin calls fork. What the starter has blocked or has a better
// priority for is inherited here.
func AsFromLogin(fork func(), _ func(error)) { fork() }
