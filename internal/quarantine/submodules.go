package quarantine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
)

// submodules returns the paths of the checkout's submodules, and what .git is in each. In
// the sandbox they are read-only, and as mounts they cannot be renamed: git of the user's
// enters a submodule, and runs what a repository there names. A directory that is missing
// is made, as git does.
func (s site) submodules(ctx context.Context) (map[string]string, error) {
	var names []string
	list := s.Look("ls-files", "--stage", "-z")
	list.Again = func() { names = nil }
	list.Each = func(record string) {
		if name, ok := gitlink(record); ok {
			names = append(names, name)
		}
	}
	if _, err := list.Run(ctx); err != nil || names == nil {
		return nil, err
	}
	tree, err := os.OpenRoot(s.WorkTree)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	found := map[string]string{}
	for _, name := range names {
		if err := tree.MkdirAll(filepath.FromSlash(name), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("submodule %s: %w", plaintext.Quoted(name), err)
		}
		if found[name], err = nested(tree, name); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// planted returns which submodules have another .git than before.
func (s site) planted(before map[string]string) (names []string, err error) {
	if len(before) == 0 || s.gone {
		return nil, nil
	}
	tree, err := os.OpenRoot(s.WorkTree)
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	for _, name := range sortedKeys(before) {
		now, err := nested(tree, name)
		if err != nil {
			return nil, err
		}
		if now != before[name] {
			names = append(names, name)
		}
	}
	return names, nil
}

// nested describes the .git of a submodule: another repository has another description.
// It is "" if there is none.
func nested(tree *os.Root, name string) (string, error) {
	at := filepath.FromSlash(path.Join(name, ".git"))
	info, err := tree.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "unknown", nil // such as a link that leads out of the checkout
	case !info.Mode().IsRegular():
		return info.Mode().Type().String() + " " + identity(info), nil
	}
	text, err := plainfile.Read(tree, at, maxPointer)
	if err != nil {
		return "", fmt.Errorf("submodule %s: read .git: %w", plaintext.Quoted(name), err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), nil
}

// gitlink returns the path of a record of `ls-files --stage -z` if it is a submodule's.
func gitlink(record string) (string, bool) {
	if !strings.HasPrefix(record, "160000 ") {
		return "", false
	}
	_, name, ok := strings.Cut(record, "\t")
	return name, ok && filepath.IsLocal(filepath.FromSlash(name))
}
