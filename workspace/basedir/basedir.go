package basedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/private"
)

// Make makes and checks the base directory as private.MakeDir does, and opens
// it. The Name of the result is its canonical path. The caller closes it.
func Make(base string) (*os.Root, error) {
	canonical, err := Canonical(base)
	if err != nil {
		return nil, err
	}
	if err := private.MakeDir(canonical); err != nil {
		return nil, unsafe(err)
	}
	return openChecked(canonical)
}

// Open checks and opens the base directory, but does not make it: a missing
// base (its disk may not be mounted) is an error. The caller closes the result.
func Open(base string) (*os.Root, error) {
	canonical, err := Canonical(base)
	if err != nil {
		return nil, err
	}
	return openChecked(canonical)
}

func openChecked(canonical string) (*os.Root, error) {
	root, err := os.OpenRoot(canonical)
	if err != nil {
		return nil, fmt.Errorf("open base directory: %w", err)
	}
	checked, err := os.Lstat(canonical)
	if err == nil {
		var opened fs.FileInfo
		if opened, err = root.Stat("."); err == nil && !os.SameFile(checked, opened) {
			err = fmt.Errorf("base directory %s was replaced while it was opened: %w", canonical, ErrUnsafeBase)
		}
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// Canonical returns the canonical path of the base directory, which need not
// exist yet. It resolves all links in the deepest existing ancestor and appends
// the rest. An ancestor may be a link, as /tmp is on some systems. The base
// itself may not. The result passes private.Dir, unless it is missing; then what
// is above it passes.
func Canonical(base string) (string, error) {
	if !filepath.IsAbs(base) {
		return "", fmt.Errorf("base directory %q: not an absolute path: %w", base, ErrUnsafeBase)
	}
	ancestor, rest := base, "."
	for {
		info, err := os.Lstat(ancestor)
		if err == nil {
			if ancestor == base && info.Mode()&fs.ModeSymlink != 0 {
				return "", fmt.Errorf("base directory %s is a symbolic link: %w", base, ErrUnsafeBase)
			}
			break
		}
		parent := filepath.Dir(ancestor)
		if !errors.Is(err, fs.ErrNotExist) || parent == ancestor {
			return "", fmt.Errorf("look at base directory: %w", err)
		}
		ancestor, rest = parent, filepath.Join(filepath.Base(ancestor), rest)
	}
	resolved, err := filepath.EvalSymlinks(ancestor)
	if err != nil {
		return "", fmt.Errorf("resolve base directory %s: %w", ancestor, err)
	}
	canonical := filepath.Join(resolved, rest)
	if err := private.Dir(canonical); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", unsafe(err)
	}
	return canonical, nil
}

// unsafe adds ErrUnsafeBase to an error of package private that says so.
func unsafe(err error) error {
	if _, is := errors.AsType[*private.UnsafeError](err); is {
		return fmt.Errorf("%w: %w", err, ErrUnsafeBase)
	}
	return err
}
