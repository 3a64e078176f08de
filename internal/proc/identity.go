package proc

// StillRuns reports whether the process with that pid is the one of which StartOf
// returned start. With an empty start nothing proves it.
func StillRuns(pid int, start string) bool { return start != "" && StartOf(pid) == start }
