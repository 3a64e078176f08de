package quarantine

// executable returns a path that leads a process that this one starts to this executable,
// even after that was replaced on disk.
func executable() (string, error) { return "/proc/self/exe", nil }
