package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

const root = ".." // internal/web

// TestCommittedBuild fails when dist is not what the sources build.
func TestCommittedBuild(t *testing.T) {
	want, err := bundle(root)
	if err != nil {
		t.Fatal(err)
	}
	got := readTree(t, filepath.Join(root, "dist"))
	for name, content := range want {
		if !bytes.Equal(got[name], content) {
			t.Errorf("dist/%s differs from what its sources build: go run ./internal/web/build", name)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("dist/%s is not part of the build: go run ./internal/web/build", name)
	}
}

// TestVendoredHashes fails when a vendored file is not the one that the
// manifest names, or is named by nothing.
func TestVendoredHashes(t *testing.T) {
	vendored := filepath.Join(root, "vendored")
	packages, err := readManifest(vendored)
	if err != nil {
		t.Fatal(err)
	}
	got := readTree(t, vendored)
	delete(got, "vendored.json")
	for _, p := range packages {
		for file, want := range p.Files {
			name := p.Name + "/" + file
			sum := sha256.Sum256(got[name])
			if hex.EncodeToString(sum[:]) != want {
				t.Errorf("vendored/%s is not the file of %s %s", name, p.Name, p.Version)
			}
			delete(got, name)
		}
	}
	for name := range got {
		t.Errorf("vendored/%s is in no package of vendored.json", name)
	}
}

// readTree returns the files under dir, keyed by slash path.
func readTree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		files[filepath.ToSlash(relative)] = content
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
