package certs

// checkKey leaves it to the access list of the file.
func checkKey(string) error { return nil }
