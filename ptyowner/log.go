package ptyowner

import (
	"fmt"
	"os"
	"time"
)

// logf notes something in the owner's log, which is its standard error. It is
// for what nobody can be told.
func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
}
