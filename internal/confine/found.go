package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/environ"
	"middleman/internal/ownpath"
)

// found returns where a program is that is named without a directory: the first in the PATH
// of this process, in the one that it was given, and in the one of the user's login or the
// caller. A link that leads nowhere counts, and so does what follows it.
func (b *builder) found(name string) (paths []string) {
	if paths, known := b.inPath[name]; known {
		return paths
	}
	if b.inPath == nil {
		b.inPath = map[string][]string{}
	}
	defer func() { b.inPath[name] = paths }()
	for _, list := range b.searched() {
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, name)
			info, err := os.Lstat(path)
			if !filepath.IsAbs(dir) || err != nil || info.IsDir() {
				continue
			}
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
			if at, err := os.Stat(path); err == nil && !at.IsDir() && at.Mode()&0o111 != 0 {
				break
			}
		}
	}
	return paths
}

// searched returns each PATH that programs outside may be found in.
func (b *builder) searched() []string {
	lists := b.values("PATH")
	for _, entry := range ownpath.Environ() {
		if list, is := strings.CutPrefix(entry, "PATH="); is && !slices.Contains(lists, list) {
			lists = append(lists, list)
		}
	}
	return lists
}

// values returns what a variable is outside: of this process, and of the user's login or the
// caller. Others count inside alone.
func (b *builder) values(name string) (values []string) {
	all := []string{os.Getenv(name)}
	if slices.Contains([]string{environ.Caller, environ.LoginShell, environ.Listed}, b.env.Source(name)) {
		all = append(all, b.env.Lookup(name))
	}
	for _, value := range all {
		if value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}
