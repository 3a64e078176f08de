package ptyowner

import (
	"fmt"
	"os"
	"time"
)

// maxLog bounds an owner's log: one that is larger begins anew.
const maxLog = 1 << 20

// logf notes something in the owner's log, which is its standard error. It is
// for what nobody can be told.
func logf(format string, args ...any) {
	note(os.Stderr, format, args...)
}

// note writes a line of an owner's log.
func note(log *os.File, format string, args ...any) {
	if info, err := log.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > maxLog {
		_ = log.Truncate(0) // where it cannot be, the log is larger
	}
	fmt.Fprintf(log, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
}
