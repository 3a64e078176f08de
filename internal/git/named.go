package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
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
	var records []string // alternates between "file:PATH" and "key\nvalue"
	c.Again = func() { records = nil }
	c.Each = func(record string) { records = append(records, record) }
	if _, err = c.Run(ctx); err != nil {
		return nil, nil, err
	}
	for pair := range slices.Chunk(records, 2) {
		file, ofFile := strings.CutPrefix(pair[0], "file:")
		if !ofFile || len(pair) < 2 {
			continue // what we set ourselves
		}
		files = append(files, file)
		key, value, _ := strings.Cut(pair[1], "\n")
		more, err := namedBySetting(ctx, key, value, file, home)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, more...)
	}
	return all, slices.Compact(files), nil
}

// NamedBySetting returns what a setting names that is given by variables of the environment.
func NamedBySetting(ctx context.Context, key, value, home string) ([]Named, error) {
	section, rest, _ := strings.Cut(key, ".")
	if at := strings.LastIndex(rest, "."); at >= 0 { // the case of a subsection counts
		rest = rest[:at] + strings.ToLower(rest[at:])
	} else {
		rest = strings.ToLower(rest)
	}
	return namedBySetting(ctx, strings.ToLower(section)+"."+rest, value, filepath.Join(home, ".gitconfig"), home)
}

// namedBySetting returns the paths that one setting names.
func namedBySetting(ctx context.Context, key, value, file, home string) (all []Named, err error) {
	section, _, _ := strings.Cut(key, ".")
	if section == "includeif" {
		key = includePath
	}
	switch {
	case isHarmless(section, key, value):
		return nil, nil
	case key == includePath:
		paths, err := IncludedPaths(ctx, value, file, home)
		for _, path := range paths {
			all = append(all, Named{Setting: key, Path: path})
		}
		return all, err
	case isCommand(key):
		return namedByCommand(key, value, home), nil
	}
	meant, err := pathname(ctx, strings.TrimPrefix(value, optional), home)
	if err != nil {
		return nil, err
	}
	for _, word := range append(strings.FieldsFunc(value, separates), value, meant) { // a path may have a blank in it
		path := atHome(word, home)
		if filepath.IsAbs(path) && !slices.ContainsFunc(all, func(n Named) bool { return n.Path == filepath.Clean(path) }) {
			all = append(all, Named{Setting: key, Path: filepath.Clean(path), Word: !slices.Contains(pathValued, key)})
		}
	}
	if slices.Contains(programParts, lastPart(key)) && !strings.ContainsAny(value, `/\`) && value != "" {
		all = append(all, Named{Setting: key, Program: value, Word: true})
	}
	return all, nil
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

// atHome expands the home directory at the beginning of a path, as sh does: this user's, or
// that of ~user.
func atHome(path, home string) string {
	for _, name := range []string{"~/", "$HOME/", "${HOME}/"} {
		if below, is := strings.CutPrefix(path, name); is && home != "" {
			return filepath.Join(home, below)
		}
	}
	name, below, is := strings.Cut(path, "/")
	if name, tilde := strings.CutPrefix(name, "~"); is && tilde && name != "" {
		if other, err := user.Lookup(name); err == nil {
			return filepath.Join(other.HomeDir, below)
		}
	}
	return path
}
