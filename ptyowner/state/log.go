package state

import (
	"fmt"
	"os"
	"time"
)

// maxLog bounds an owner's log: Note empties a larger one first.
const maxLog = 1 << 20

// Note appends a line to an owner's log, after the time. If the log is larger
// than 1 MiB, Note empties it first. A failed write is ignored.
func Note(log *os.File, format string, args ...any) {
	if info, err := log.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > maxLog {
		_ = log.Truncate(0) // if this fails, the log grows on
	}
	fmt.Fprintf(log, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
}
