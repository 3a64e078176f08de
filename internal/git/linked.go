package git

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Linked returns the links that are where the checkout at root, or a submodule in it, has
// a directory of tracked files. `git grep` follows them; most other commands do not.
func Linked(ctx context.Context, commonDir, root string) (links []string, err error) {
	gitDir, err := CheckoutDir(commonDir, root)
	if err != nil {
		return nil, err
	}
	var dirs map[string]bool
	c := Dirs{GitDir: gitDir, CommonDir: commonDir, WorkTree: root}.Look("ls-files", "-z", "--recurse-submodules")
	c.Again = func() { dirs = nil }
	c.Each = func(file string) {
		if dirs == nil {
			dirs = map[string]bool{".": true}
		}
		for dir := path.Dir(file); !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	if _, err := c.Run(ctx); err != nil {
		return nil, err
	}
	for dir := range dirs {
		at := filepath.Join(root, filepath.FromSlash(dir))
		if info, err := os.Lstat(at); dir != "." && err == nil && info.Mode().Type() != fs.ModeDir {
			links = append(links, at)
		}
	}
	slices.Sort(links)
	return links, nil
}
