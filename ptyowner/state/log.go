package state

import (
	"fmt"
	"os"
	"time"
)

// maxLog bounds an owner's log: one that is larger begins anew.
const maxLog = 1 << 20

// Note writes a line to an owner's log, with the time before it. A log that has
// grown past 1 MiB begins anew. What cannot be written is lost.
func Note(log *os.File, format string, args ...any) {
	if info, err := log.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > maxLog {
		_ = log.Truncate(0) // where it cannot be, the log is larger
	}
	fmt.Fprintf(log, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
}
