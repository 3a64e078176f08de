package certs

// checkKey accepts every key: on Windows the file's access list protects it.
func checkKey(string) error { return nil }
