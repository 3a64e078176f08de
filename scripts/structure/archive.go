package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// extract writes the files that are measured of a commit of the repository in
// dir below root.
func extract(dir, commit, root string) error {
	if strings.HasPrefix(commit, "-") {
		return fmt.Errorf("%q is no commit", commit)
	}
	cmd := exec.Command("git", "-C", dir, "archive", "--format=tar", commit)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = untar(out, root)
	io.Copy(io.Discard, out) // so that git ends by itself
	if waited := cmd.Wait(); waited != nil {
		return fmt.Errorf("git archive %s: %w: %s", commit, waited, bytes.TrimSpace(stderr.Bytes()))
	}
	return err
}

// untar writes the plain files of an archive that are measured below root.
func untar(r io.Reader, root string) error {
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg || !measured(header.Name) || !filepath.IsLocal(header.Name) {
			continue
		}
		name := filepath.Join(root, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return err
		}
	}
}

// measured reports whether a file, by its path in the repository, counts: Go
// sources, and tests that are scripts.
func measured(name string) bool {
	return path.Ext(name) == ".go" || isScriptTest(name)
}

// isScriptTest reports whether a file is a test of its own: a script that the
// real binary runs, or a test of a browser.
func isScriptTest(name string) bool {
	return path.Ext(name) == ".txtar" || strings.HasSuffix(name, ".test.mjs")
}
