package approve

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// diff is diff of two paths, not recursive. What it reads in a directory counts too, for
// it follows links there.
func diff(p Place, dir string, args []string) Verdict {
	paths, ok := options{flags: "uqwbBiN", values: "U"}.split(args)
	if !ok || len(paths) != 2 {
		return badOptions("diff")
	}
	verdict := p.all(dir, paths, false)
	if verdict.Decision != Allow {
		return verdict
	}
	a, b := join(dir, paths[0]), join(dir, paths[1])
	switch {
	case isDir(a) && isDir(b):
		alone := slices.ContainsFunc(args, func(arg string) bool { return has(arg, "-N") })
		return p.pairs(a, b, alone)
	case isDir(a):
		return worse(verdict, p.file(a, filepath.Base(b), false))
	case isDir(b):
		return worse(verdict, p.file(b, filepath.Base(a), false))
	}
	return verdict
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// pairs decides on comparing the files of two directories that have the same name, and
// with alone those that one of them has. Directories in them are only named.
func (p Place) pairs(a, b string, alone bool) Verdict {
	entries, dirs := map[string]int{}, []string{a, b}
	for _, dir := range dirs {
		list, err := os.ReadDir(dir)
		if err != nil {
			return ask("unresolved", "%s cannot be read", dir)
		}
		if len(list) > maxEntries {
			return ask("unresolved", "what is compared cannot be told: there are more than %d files to look at", maxEntries)
		}
		for _, entry := range list {
			entries[entry.Name()]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		for _, dir := range dirs {
			info, err := os.Lstat(filepath.Join(dir, name))
			if entries[name] == 1 && !alone || err == nil && info.IsDir() {
				continue
			}
			if v := p.file(dir, name, false); v.Decision != Allow {
				return v
			}
		}
	}
	return onFiles
}
