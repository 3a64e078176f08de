package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

const module = "middleman/"

// root is the top of this repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func rootFS(t *testing.T) fs.FS {
	t.Helper()
	return os.DirFS(root(t))
}
