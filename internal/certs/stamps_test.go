package certs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The error for a file that is missing says which of the two it is.
func TestMissingFileIsNamed(t *testing.T) {
	there, missing := filepath.Join(t.TempDir(), "there"), filepath.Join(t.TempDir(), "missing")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		files *files
		want  string
	}{
		{&files{cert: missing, key: there}, "look at the certificate: "},
		{&files{cert: there, key: missing}, "look at the private key: "},
	} {
		if _, err := x.files.stamps(); err == nil || !strings.HasPrefix(err.Error(), x.want) || !strings.Contains(err.Error(), missing) {
			t.Errorf("%v, want %s", err, x.want)
		}
	}
}
