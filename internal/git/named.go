package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	namedTime   = 10 * time.Second
	maxIncluded = 32 // files of settings that conditions include
)

// Named is a path, or a program in PATH, that settings of git name.
type Named struct {
	Setting string // with its section and last part in lower case
	Path    string // clean and absolute; nothing need be there
	// Program is what a command runs that is found in PATH. There is no Path then.
	Program string
	// Word says that it is a word of a command, and not the value of a setting that is
	// a path.
	Word bool
	// Runs says of such a word that it is run, or that the shell writes there: it matters
	// also if nothing is there.
	Runs bool
}

// pathValued are settings whose value is the path of what git reads or runs.
var pathValued = []string{"core.hookspath", "core.attributesfile", "core.excludesfile", "init.templatedir", includePath}

const includePath = "include.path"

// harmlessSections have paths and addresses of repositories, which git of the user's does not
// run because a setting names them, with the exceptions of isHarmless.
var harmlessSections = []string{"safe", "maintenance", "gui", "url", "remote", "submodule"}

// NamedByUser returns what the user's and the system's settings of git name: files and
// directories of settings, programs of commands, and their words that are absolute paths, begin
// with the home directory, or are paths below the directory that `cd` was given before. Files
// that are included count, whatever the condition. Without git there are none.
func NamedByUser(ctx context.Context, home string) (all []Named, err error) {
	named, read, err := namedIn(ctx, home)
	for n := 0; err == nil && n < len(named); n++ {
		file := named[n]
		if file.Setting != includePath || slices.Contains(read, file.Path) || len(read) > maxIncluded {
			continue
		}
		if info, err := os.Stat(file.Path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		more, also, failed := namedIn(ctx, home, "--file", file.Path, "--includes")
		named, read, err = append(named, more...), append(append(read, also...), file.Path), failed
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil, nil
	}
	return named, err
}

// namedIn is NamedByUser for one list of settings. files are those that it has settings of.
func namedIn(ctx context.Context, home string, from ...string) (all []Named, files []string, err error) {
	c := Command{Dir: string(filepath.Separator), Limit: namedTime, Env: []string{"GIT_DIR=" + os.DevNull, "HOME=" + home}}
	c.Args = append([]string{"config", "--null", "--show-origin", "--list"}, from...)
	origin := ""
	c.Again = func() { all, files, origin = nil, nil, "" }
	c.Each = func(record string) { // alternates between "file:PATH" and "key\nvalue"
		if origin == "" {
			origin = record
			return
		}
		file, ofFile := strings.CutPrefix(origin, "file:")
		origin = ""
		if !ofFile {
			return // what we set ourselves
		}
		files = append(files, file)
		key, value, _ := strings.Cut(record, "\n")
		all = append(all, namedBySetting(key, value, file, home)...)
	}
	_, err = c.Run(ctx)
	return all, slices.Compact(files), err
}

// NamedBySetting returns what a setting names that is given by variables of the environment.
func NamedBySetting(key, value, home string) []Named {
	section, rest, _ := strings.Cut(key, ".")
	if at := strings.LastIndex(rest, "."); at >= 0 { // the case of a subsection counts
		rest = rest[:at] + strings.ToLower(rest[at:])
	} else {
		rest = strings.ToLower(rest)
	}
	return namedBySetting(strings.ToLower(section)+"."+rest, value, filepath.Join(home, ".gitconfig"), home)
}

// namedBySetting returns the paths that one setting names.
func namedBySetting(key, value, file, home string) (all []Named) {
	section, _, _ := strings.Cut(key, ".")
	if section == "includeif" {
		key = includePath
	}
	switch {
	case isHarmless(section, key, value):
		return nil
	case key == includePath:
		return []Named{{Setting: key, Path: IncludedPath(value, file, home)}}
	case isCommand(key):
		return namedByCommand(key, value, home)
	}
	for _, word := range append(strings.FieldsFunc(value, separates), value) { // a path may have a blank in it
		path := atHome(word, home)
		if filepath.IsAbs(path) && !slices.ContainsFunc(all, func(n Named) bool { return n.Path == filepath.Clean(path) }) {
			all = append(all, Named{Setting: key, Path: filepath.Clean(path), Word: !slices.Contains(pathValued, key)})
		}
	}
	if slices.Contains(programParts, lastPart(key)) && !strings.ContainsAny(value, `/\`) && value != "" {
		all = append(all, Named{Setting: key, Program: value, Word: true})
	}
	return all
}

// isHarmless reports whether nothing is run or read because of a setting.
func isHarmless(section, key, value string) bool {
	switch last := lastPart(key); {
	case !slices.Contains(harmlessSections, section):
		return false
	case section == "remote":
		return last != "uploadpack" && last != "receivepack"
	case section == "submodule":
		return last != "update" || !strings.HasPrefix(value, "!")
	}
	return true
}

// IncludedPath returns what a setting that includes another file means, in file.
func IncludedPath(value, file, home string) string {
	path := atHome(value, home)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	return filepath.Clean(path)
}

// atHome expands the home directory at the beginning of a path.
func atHome(path, home string) string {
	for _, name := range []string{"~/", "$HOME/", "${HOME}/"} {
		if below, is := strings.CutPrefix(path, name); is && home != "" {
			return filepath.Join(home, below)
		}
	}
	return path
}
