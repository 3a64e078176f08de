package workspace

import (
	"fmt"

	"middleman/internal/contain"
	"middleman/internal/plaintext"
)

// containing makes a panic of what it is deferred in an error that names the
// workspace.
func containing(name string, err *error) {
	if value := recover(); value != nil {
		*err = fmt.Errorf("workspace %s: %w", plaintext.Quoted(name), contain.Caught(value))
	}
}
