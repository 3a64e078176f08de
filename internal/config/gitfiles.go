package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"middleman/internal/private"
)

// place is a file or directory that Check looks at.
type place struct {
	check func(string) error
	path  string
	// variables are those that may have led there, HOME apart.
	variables []string
	// git says that it is a file of git's settings, which can include others, and by is
	// the one that includes it, if any.
	git bool
	by  string
}

// withIncluded returns list with what the place includes, if it is a file of git's
// settings, and what is not there yet.
func (p place) withIncluded(list []place) ([]place, error) {
	if !p.git {
		return list, nil
	}
	paths, err := included(p.path)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if slices.ContainsFunc(list, func(o place) bool { return o.git && o.path == path }) {
			continue
		}
		if len(list) >= maxGitPlaces {
			return nil, fmt.Errorf("git's settings include too many files, the last one %s in %s", path, p.path)
		}
		list = append(list, place{check: p.check, path: path, git: true, by: p.path})
	}
	return list, nil
}

// gitPlaces returns the user's settings of git (git-config(1), gitattributes(5)).
// They name programs, which git runs for us. It returns an error if a variable is
// relative: git would find its settings in the directory that it runs in, which is
// often a repository.
func gitPlaces() (list []place, err error) {
	add := func(variable, path string) {
		if path != "" && path != os.DevNull {
			git := filepath.Base(path) != "attributes" && filepath.Base(path) != "ignore" && variable != "GIT_EXEC_PATH"
			list = append(list, place{check: private.Trusted, path: path, variables: []string{variable}, git: git})
		}
	}
	home, config := os.Getenv("HOME"), os.Getenv("XDG_CONFIG_HOME")
	if home != "" {
		add("", filepath.Join(home, ".gitconfig"))
		config = cmp.Or(config, filepath.Join(home, ".config"))
	}
	if config != "" {
		for _, name := range []string{"config", "attributes", "ignore"} {
			add("XDG_CONFIG_HOME", filepath.Join(config, "git", name))
		}
	}
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH"} {
		add(name, os.Getenv(name))
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH"} {
		if path := os.Getenv(name); path != "" && !filepath.IsAbs(path) {
			return nil, fmt.Errorf("%s is %q: git finds its settings by it, so it must be an absolute path", name, path)
		}
	}
	return list, nil
}
