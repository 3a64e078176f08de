package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"middleman/internal/sandbox"
)

// checkLinks refuses the path of a setting if a link in it could be of a sandboxed
// program: it lies in the workspace, or in a directory that programs may change. Such a
// link would open to the next session whatever the program before wanted.
func (b *builder) checkLinks(path string) error {
	path = filepath.Clean(b.expand([]string{path})[0])
	open := slices.Clone(b.policy.Writable)
	for _, other := range slices.Concat(b.Settings.Writable, b.Profile.Writable) {
		if other = filepath.Clean(b.expand([]string{other})[0]); other != path {
			open = append(open, other)
			if real, err := filepath.EvalSymlinks(other); err == nil {
				open = append(open, real)
			}
		}
	}
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		in := filepath.Dir(at)
		if real, err := filepath.EvalSymlinks(in); err == nil {
			in = real
		}
		if slices.ContainsFunc(open, func(dir string) bool { return sandbox.Within(in, dir) }) {
			return fmt.Errorf("%s of the settings or the profile leads through the link %s, which sandboxed programs can change: name the directory itself", path, at)
		}
	}
	return nil
}
