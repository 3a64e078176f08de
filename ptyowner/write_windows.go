package ptyowner

import "syscall"

// writeNow writes nothing: whoever calls it waits.
func writeNow(syscall.RawConn, []byte) int { return 0 }
