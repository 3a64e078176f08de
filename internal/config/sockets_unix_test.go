//go:build unix

package config

import (
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/private"
)

// The path of each socket fits, however long that of the runtime directory is.
func TestSocketsFit(t *testing.T) {
	seen := map[string]string{}
	for n := range 300 {
		d := Dirs{Runtime: "/" + strings.Repeat("r", n)}
		path := filepath.Join(d.Sockets(), longestSocket)
		if len(path) > private.MaxSocketPath {
			t.Errorf("a runtime directory of %d bytes: %s has %d", n, path, len(path))
		}
		if other, is := seen[d.Sockets()]; is {
			t.Errorf("%s and %s share %s", other, d.Runtime, d.Sockets())
		}
		seen[d.Sockets()] = d.Runtime
		if short := len(filepath.Join(d.Runtime, longestSocket)) <= private.MaxSocketPath; short != (d.Sockets() == filepath.Clean(d.Runtime)) {
			t.Errorf("%s: its sockets are in %s", d.Runtime, d.Sockets())
		}
	}
}
