package main

import (
	"fmt"
	"path/filepath"
	"unicode/utf8"

	"middleman/internal/plaintext"
)

// absolute is the whole path of dir, which is to be sent to the server. JSON
// carries no other bytes than text, and would change such a name silently.
func absolute(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find directory %s: %w", plaintext.Line(dir), err)
	}
	if !utf8.ValidString(abs) {
		return "", fmt.Errorf("%q is not valid UTF-8: middleman cannot name it to its server; rename the directory", abs)
	}
	return abs, nil
}
