package quarantine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
)

const (
	maxAlternates     = 64
	maxAlternatesFile = 1 << 20
)

// alternates returns the object directories that those of the repository borrow from,
// however indirectly: absolute, without links, each once.
func (s site) alternates() ([]string, error) {
	var found []string
	todo := []string{filepath.Join(s.CommonDir, "objects")}
	for len(todo) > 0 {
		dir := todo[0]
		todo = todo[1:]
		named, err := readAlternates(dir)
		if err != nil {
			return nil, err
		}
		for _, path := range named {
			path, err := filepath.EvalSymlinks(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // git goes on without it too
			}
			if err != nil {
				return nil, err
			}
			if slices.Contains(found, path) {
				continue
			}
			if len(found) == maxAlternates {
				return nil, fmt.Errorf("%s has more than %d alternates", plaintext.Quoted(s.CommonDir), maxAlternates)
			}
			found, todo = append(found, path), append(todo, path)
		}
	}
	return found, nil
}

// readAlternates returns the paths in the file of an object directory.
func readAlternates(dir string) ([]string, error) {
	text, err := plainfile.ReadFollowed(filepath.Join(dir, "info", "alternates"), maxAlternatesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the alternates of %s: %w", plaintext.Quoted(dir), err)
	}
	var paths []string
	for line := range bytes.Lines(text) {
		path := strings.TrimSuffix(string(line), "\n")
		if path == "" || path[0] == '#' {
			continue
		}
		if path[0] == '"' {
			if path, err = strconv.Unquote(path); err != nil {
				return nil, fmt.Errorf("read the alternates of %s: %.200q has no end", plaintext.Quoted(dir), line)
			}
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// alternatesFile names the objects of the repository: at base, where a sandbox that can
// mount shows them, and where they are, which is the private directory itself in such a
// sandbox; then those that they borrow from.
func (s site) alternatesFile(base string, alternates []string) string {
	var b strings.Builder
	for _, path := range append([]string{base, filepath.Join(s.CommonDir, "objects")}, alternates...) {
		b.WriteString(quotedAlternate(path) + "\n")
	}
	return b.String()
}

// quotedAlternate returns path as git reads it in a file of alternates.
func quotedAlternate(path string) string {
	if path[0] != '"' && !strings.ContainsAny(path, "\n") {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// hasAlternates reports whether the repository's own objects have a file of alternates.
func (s site) hasAlternates() bool {
	_, err := os.Stat(filepath.Join(s.CommonDir, "objects", "info", "alternates"))
	return err == nil
}
