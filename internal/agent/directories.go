package agent

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Directory is where a program keeps its settings, its login and its
// conversations. In a sandbox it gets a copy of its own.
type Directory struct {
	// Path is absolute, or begins with "~/".
	Path string
	// Variable leads the program to another directory; "" if it knows no such
	// variable, so that the copy must be where Path is.
	Variable string
}

// ParseDirectory reads an item of Definition.Directories: PATH, or VARIABLE=PATH.
func ParseDirectory(item string) (d Directory, err error) {
	d.Path = item
	if variable, path, is := strings.Cut(item, "="); is {
		d = Directory{Path: path, Variable: variable}
		if !variablePattern().MatchString(variable) || strings.ContainsAny(variable, "*?") {
			return d, fmt.Errorf("directories: %q: %q is not a valid name of a variable", item, variable)
		}
	}
	if !IsPlace(d.Path) {
		return d, fmt.Errorf("directories: %q: it must be an absolute path, or begin with ~/", item)
	}
	return d, nil
}

// IsPlace reports whether path is absolute or in the home directory, clean, and
// neither the root nor the home directory itself.
func IsPlace(path string) bool {
	if rest, is := strings.CutPrefix(path, "~/"); is {
		return filepath.IsLocal(rest) && filepath.Clean(rest) == rest && rest != "."
	}
	return filepath.IsAbs(path) && filepath.Clean(path) == path && filepath.Dir(path) != path
}

func (d Definition) checkDirectories() error {
	for _, item := range d.Directories {
		if _, err := ParseDirectory(item); err != nil {
			return err
		}
	}
	for _, path := range d.Logins {
		if !IsPlace(path) || len(d.LoginsIn(filepath.Dir(path))) == 0 {
			return fmt.Errorf("logins: %q: it must be a file in one of the directories of the profile, such as ~/.codex/auth.json", path)
		}
	}
	for _, path := range d.Writable {
		if !IsPlace(path) {
			return fmt.Errorf("writable: %q: it must be an absolute path, or begin with ~/", path)
		}
	}
	return nil
}

// LoginsIn returns the names of the files with logins in a directory of the program, given
// as it is in Directories. It is empty for any other directory.
func (d Definition) LoginsIn(dir string) (names []string) {
	known := slices.ContainsFunc(d.Directories, func(item string) bool {
		parsed, err := ParseDirectory(item)
		return err == nil && parsed.Path == dir
	})
	for _, path := range d.Logins {
		if known && filepath.Dir(path) == dir {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}

// IsAgent reports whether the profile is that of a coding agent: a built-in one,
// one of the user's in its place, or a wrapper that is like one.
func (p Profile) IsAgent() bool { return p.Name != Shell && IsBuiltIn(p.RulesOf()) }
