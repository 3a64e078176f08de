package finish

// writable returns nil: an ACL tells less than trying does.
func writable(string) error { return nil }

func isReadOnly(error) bool { return false }

func kept(string) bool { return false }
