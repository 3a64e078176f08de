package ptyowner

// The system has neither huge pages nor a way to unmap clean text that is
// worth a call.

func refuseHugePages() {}

// unmapText knows of no memory.
func unmapText() (own uint64) { return 0 }
