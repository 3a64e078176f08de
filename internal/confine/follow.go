package confine

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/internal/sandbox"
)

const (
	maxSettings = 1 << 20 // bytes of a file in which names are looked for
	maxFollowed = 64      // files of one program, with those that they include
	maxNamed    = 2000    // paths that these name
	maxMatches  = 256     // entries that one pattern matches
	maxWords    = 20000   // of the settings of one program
)

// follower looks through the files of settings of one program, and through those that they
// include, each once.
type follower struct {
	b      *builder
	reader string
	files  []string // those that are looked through and those that will be
	file   string   // the present one
	words  int      // that have been looked at
	seen   map[reading]bool
	all    []reading
}

// follow gives the text of each file to look, which calls the methods of f.
func (f *follower) follow(look func(text string)) []reading {
	f.seen = map[reading]bool{}
	for n := 0; n < len(f.files); n++ {
		f.file = f.files[n]
		look(head(f.file))
	}
	return f.all
}

// more reports whether another word is to be looked at.
func (f *follower) more() bool {
	f.words++
	return f.words <= maxWords
}

// head returns what is at the beginning of a file, "" if it cannot be read.
func head(file string) string {
	f, err := plainfile.OpenFollowed(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	raw, _ := io.ReadAll(io.LimitReader(f, maxSettings))
	return string(raw)
}

// add keeps what the present file names.
func (f *follower) add(all ...reading) {
	for _, r := range all {
		r.reader, r.of = f.reader, plaintext.Quoted(f.file)
		if key := (reading{path: r.path, file: r.file}); len(f.all) < maxNamed && !f.seen[key] {
			f.all, f.seen[key] = append(f.all, r), true
		}
	}
}

// script adds what a script for sh names.
func (f *follower) script(setting, text string) {
	f.add(f.b.readings(f.reader, "", thatMatter(git.NamedByScript(setting, text, "", f.b.Home)))...)
}

// path adds a file that a setting names, which may be a pattern. What could be made in a
// directory so that it matches counts too. It returns the files.
func (f *follower) path(setting, pattern string) []string {
	files, dirs := f.b.matches(pattern)
	for _, path := range files {
		f.add(reading{path: path, setting: setting, file: true})
	}
	for _, path := range dirs {
		f.add(reading{path: path, setting: setting})
	}
	return files
}

// include is path for files of settings that are looked through next.
func (f *follower) include(setting, pattern string) {
	for _, path := range f.path(setting, pattern) {
		if len(f.files) < maxFollowed && !slices.Contains(f.files, path) {
			f.files = append(f.files, path)
		}
	}
}

// matches returns the paths that an absolute pattern stands for, and the directories in which
// more could be made.
func (b *builder) matches(pattern string) (files, dirs []string) {
	if !filepath.IsAbs(pattern) {
		return nil, nil
	}
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}, nil
	}
	files = []string{filepath.VolumeName(pattern) + string(filepath.Separator)}
	for part := range strings.SplitSeq(filepath.ToSlash(pattern[len(files[0]):]), "/") {
		var next []string
		for _, at := range files {
			if !strings.ContainsAny(part, "*?[") {
				next = append(next, filepath.Join(at, part))
				continue
			}
			if !b.holdsOpen(at) {
				dirs = append(dirs, at)
			}
			entries, _ := os.ReadDir(at)
			for _, entry := range entries {
				if is, err := filepath.Match(part, entry.Name()); err == nil && is && len(next) < maxMatches {
					next = append(next, filepath.Join(at, entry.Name()))
				}
			}
		}
		files = next
	}
	return files, dirs
}

// holdsOpen reports whether a directory that the program may change lies further below dir:
// then nothing can be made in dir itself.
func (b *builder) holdsOpen(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && slices.ContainsFunc(b.open(), func(open string) bool { return open != real && sandbox.Within(open, real) })
}
