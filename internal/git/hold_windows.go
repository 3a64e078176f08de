package git

import "os"

// tryHold does without a lock: a directory cannot be locked, and git there ends
// with the server, whose job it is in.
func tryHold(string) (*os.File, bool, error) { return nil, true, nil }
