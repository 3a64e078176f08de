package ptyowner

import (
	"fmt"
	"os"
	"time"
)

// logf notes something in the owner's log, which is its standard error. It is
// for what nobody can be told.
func logf(format string, args ...any) {
	note(os.Stderr, format, args...)
}

// note writes a line of an owner's log.
func note(log *os.File, format string, args ...any) {
	fmt.Fprintf(log, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
}
