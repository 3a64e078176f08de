package private

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Below makes the checks of Dir for root, and for each component from there down
// to path. None of them may be a link.
func Below(root, path string) error {
	if err := Dir(root); err != nil {
		return err
	}
	rest, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rest) {
		return fmt.Errorf("check directory %s: it is not below %s", path, root)
	}
	unsafe := &UnsafeError{Path: path}
	for name := range strings.SplitSeq(rest, string(filepath.Separator)) {
		root = filepath.Join(root, name)
		info, err := os.Lstat(root)
		if err != nil {
			return fmt.Errorf("check directory: %w", err)
		}
		unsafe.add(judgeDir(root, info))
	}
	return unsafe.orNil()
}

// LastDir makes the checks of Dir for the last component of path only: for a
// directory of ours in a place that may be shared with others.
func LastDir(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("check directory: %w", err)
	}
	unsafe := &UnsafeError{Path: path}
	unsafe.add(judgeDir(path, info))
	return unsafe.orNil()
}
