package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"middleman/internal/private"
)

// place is a file or directory that Check looks at.
type place struct {
	check func(string) error
	path  string
	// variables are those that may have led there, HOME apart.
	variables []string
}

// gitPlaces returns the user's settings of git (git-config(1), gitattributes(5)).
// They name programs, which git runs for us. It returns an error if a variable is
// relative: git would find its settings in the directory that it runs in, which is
// often a repository.
func gitPlaces() (list []place, err error) {
	add := func(variable, path string) {
		if path != "" && path != os.DevNull {
			list = append(list, place{private.Trusted, path, []string{variable}})
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
