package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"middleman/cmd/middleman/internal/cli"
)

// The committed reference is what the commands say.
func TestCommittedReference(t *testing.T) {
	made := t.TempDir()
	runMan(t, "--markdown", made)
	for _, page := range filesBelow(t, made) {
		want, err := os.ReadFile(filepath.Join(made, page))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("../../docs", page)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what the commands say now (%v): make docs", page, err)
		}
	}
}

// groff reads each man page without a warning.
func TestManPages(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	dir := t.TempDir()
	runMan(t, "--dir", dir)
	pages := filesBelow(t, dir)
	if len(pages) < 40 {
		t.Errorf("there are %d pages: %q", len(pages), pages)
	}
	for _, page := range pages {
		text, err := exec.Command(groff, "-man", "-Tascii", "-ww", "-P-cbou", filepath.Join(dir, page)).CombinedOutput()
		if err != nil || bytes.Contains(text, []byte("warning")) || !bytes.Contains(text, []byte("\nNAME\n")) {
			t.Errorf("%s: %v\n%s", page, err, text)
		}
	}
}

func runMan(t *testing.T, flags ...string) {
	t.Helper()
	c := cli.New(os.Stdin, os.Stdout, os.Stderr)
	if code := c.Run(append([]string{"man"}, flags...), commands(c, nil)...); code != 0 {
		t.Fatalf("man %q: exit code %d", flags, code)
	}
}

// filesBelow returns the paths of the files below dir, relative to it.
func filesBelow(t *testing.T, dir string) (list []string) {
	t.Helper()
	for _, pattern := range []string{"*", "*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				relative, err := filepath.Rel(dir, path)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, relative)
			}
		}
	}
	return list
}
