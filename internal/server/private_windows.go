package server

import (
	"fmt"
	"os"
)

// makePrivateDir makes dir where it is missing. It inherits the access list
// of the user's profile; mode bits do not exist.
func makePrivateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	return nil
}
