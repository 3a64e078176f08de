package basedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"middleman/internal/plainfile"
	"middleman/workspace/model"
)

// workPattern makes git ignore such directories at any depth.
const workPattern = "**/.middleman/work/"

const maxExclude = 64 << 20 // bytes; the file is the user's, we only append to it

// excluding keeps two goroutines from adding the line twice.
var excluding sync.Mutex

// Exclude makes git ignore the directories for workspaces in every checkout of
// the repository whose common git directory is commonDir. It adds a line to
// info/exclude unless that is there.
func Exclude(commonDir string) error {
	excluding.Lock()
	defer excluding.Unlock()
	path := filepath.Join(commonDir, "info", "exclude")
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; have git ignore %s yourself: %w", path, workPattern, model.ErrBadRequest)
	}
	before, err := plainfile.ReadFollowed(path, maxExclude)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read git's list of excluded files: %w", err)
	}
	line := workPattern + "\n"
	for known := range strings.Lines(string(before)) {
		if strings.TrimRight(known, "\r\n") == workPattern {
			return nil
		}
	}
	if len(before) > 0 && before[len(before)-1] != '\n' {
		line = "\n" + line
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("have git exclude workspaces: %w", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("have git exclude workspaces: %w", err)
	}
	_, err = f.WriteString(line)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("have git exclude workspaces: %w", err)
	}
	return nil
}
