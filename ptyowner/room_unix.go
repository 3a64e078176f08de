//go:build unix

package ptyowner

import "golang.org/x/sys/unix"

// room is memory to draw a snapshot in. It is not the runtime's, which would
// have garbage to collect for each, and holds on to what it needs to do that.
type room []byte

// roomBytes is more than most snapshots take; one that is larger grows out of
// it. What is not touched takes nothing.
const roomBytes = 4 << 20

// newRoom is empty where the system has none.
func newRoom() room {
	p, err := unix.Mmap(-1, 0, roomBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	return p
}

// free gives it back. Nothing of it may be used any more.
func (r room) free() {
	if r != nil {
		_ = unix.Munmap(r) // what newRoom got, once
	}
}
