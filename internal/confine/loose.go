package confine

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/config"
	"middleman/internal/private"
)

// LooseCopies returns the files in the copies of agents' directories that other users may
// do more with than with the user's own file, such as a login that they may read. What a
// program has made only in its copy has the mode of its umask, and is not judged here.
func LooseCopies(dirs config.Dirs) (found []private.Problem) {
	all := dirs.Private("")
	origins, _ := fs.Glob(os.DirFS(all), "*/"+copiesDirectory+"/*"+originSuffix) // Glob fails only for a bad pattern
	for _, name := range origins {
		origin := filepath.Join(all, filepath.FromSlash(name))
		from, err := private.ReadFile(origin)
		if err != nil {
			continue // a survey says why
		}
		found = append(found, looseIn(string(from), strings.TrimSuffix(origin, originSuffix))...)
	}
	return found
}

// looseIn is LooseCopies for one copy.
func looseIn(from, to string) (found []private.Problem) {
	seen := 0
	visit := func(path string, entry fs.DirEntry, err error) error {
		if seen++; seen > maxEntries {
			return fs.SkipAll
		}
		if err != nil || !entry.Type().IsRegular() {
			return nil // a survey says what cannot be read
		}
		name, err := filepath.Rel(to, path)
		if err != nil {
			return err
		}
		own, err := os.Lstat(filepath.Join(from, name))
		if err != nil && name == filepath.Base(from)+".json" { // as refreshFile has it
			own, err = os.Lstat(from + ".json")
		}
		info, err2 := entry.Info()
		if err != nil || err2 != nil || !own.Mode().IsRegular() {
			return nil
		}
		if p := private.LooserThan(path, info, own); p != nil {
			found = append(found, *p)
		}
		return nil
	}
	_ = filepath.WalkDir(to, visit)
	return found
}
