package repoconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/plainfile"
)

// Read returns the content of the configuration of the checkout at top, nil
// where there is none. A symbolic link, a special file and one that is too
// large are a plainfile.ErrRefused.
func Read(top string) ([]byte, error) {
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", Name, err)
	}
	defer root.Close()
	content, err := plainfile.Read(root, Name, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(top, Name), err)
	}
	return append([]byte{}, content...), nil
}
