package approve

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxEntries bounds the entries of directories that are looked at for one pattern.
const maxEntries = 10_000

// spot is a directory in which the names of a pattern from one on are looked for.
type spot struct {
	dir  string
	name int
}

// linked decides on the links below the directory top that a pattern leads through:
// names are the parts of the pattern from its first wildcard on, of which the last is not
// followed. It asks if one leads to a directory that may not be read, and if there is
// too much to look at. A ** with which the pattern begins, as first says, follows no
// link; one further on may.
func (p Place) linked(top string, names []string, first bool) Verdict {
	if len(names) > 0 && names[len(names)-1] == "**" {
		names = append(slices.Clone(names), "*") // it stands for all that is below
	}
	w := walk{p: p, names: names, seen: map[spot]bool{}, first: first}
	if real, _, err := resolve(top); err == nil {
		w.add(spot{real, 0})
	}
	for verdict := onFiles; len(w.rest) > 0; {
		at := w.rest[len(w.rest)-1]
		w.rest = w.rest[:len(w.rest)-1]
		if verdict = w.visit(at); verdict.Decision != Allow {
			return verdict
		}
	}
	return onFiles
}

// walk is what is known of the directories that a pattern leads through.
type walk struct {
	p       Place
	names   []string
	first   bool // the first name begins the pattern
	seen    map[spot]bool
	rest    []spot
	entries int
}

// add notes that a directory is to be looked at. Whatever the last name of the pattern
// matches there leads nowhere.
func (w *walk) add(s spot) {
	for last := len(w.names) - 1; s.name < last && !w.seen[s]; s.name++ {
		w.seen[s] = true
		if last == 1 && w.stays(s.name) {
			return // no name but the last is looked for
		}
		w.rest = append(w.rest, s)
		if w.names[s.name] != "**" {
			return
		}
	}
}

// stays reports whether a name of the pattern is a ** that follows no link.
func (w *walk) stays(name int) bool { return w.first && name == 0 && w.names[0] == "**" }

// visit decides on the links in one directory.
func (w *walk) visit(at spot) Verdict {
	list, err := os.ReadDir(at.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !isFile(at.dir) {
		return ask("unresolved", "%s cannot be read, where the pattern leads", at.dir)
	}
	if w.entries += len(list); w.entries > maxEntries {
		return ask("pattern", "where the pattern leads cannot be told: there are more than %d files to look at", maxEntries)
	}
	name := w.names[at.name]
	deep := name == "**"
	for _, entry := range list {
		if entry.Type().IsRegular() || !deep && !matches(name, entry.Name()) {
			continue
		}
		real := filepath.Join(at.dir, entry.Name())
		if !entry.IsDir() { // a link, or what some systems have for one
			if info, err := os.Stat(real); w.stays(at.name) || err != nil || !info.IsDir() {
				continue
			}
			if v := w.p.file(at.dir, real, false); v.Decision != Allow {
				return v
			}
			if real, _, err = resolve(real); err != nil {
				return ask("unresolved", "%s cannot be followed: %v", entry.Name(), err)
			}
		}
		next := at.name + 1
		if deep {
			next = at.name
		}
		w.add(spot{real, next})
	}
	return onFiles
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// matches reports whether a name of a pattern may stand for the name of a file, to some
// tool: tools differ in whether case counts, and in what brackets mean.
func matches(pattern, name string) bool {
	if pattern == name || strings.Contains(pattern, "[[") || strings.ContainsAny(pattern, "()") {
		return true
	}
	pattern = strings.ReplaceAll(pattern, "[!", "[^")
	return slices.ContainsFunc([][2]string{{pattern, name}, {strings.ToLower(pattern), strings.ToLower(name)}}, func(x [2]string) bool {
		is, err := path.Match(x[0], x[1])
		return is || err != nil
	})
}
