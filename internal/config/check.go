package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"middleman/internal/private"
)

// ours returns the directories that are this user's alone.
func (d Dirs) ours() []string {
	list := []string{d.Data, d.Runtime}
	if sockets := d.Sockets(); sockets != d.Runtime {
		list = append(list, sockets)
	}
	return list
}

// Prepare makes the data and runtime directories, and that of the sockets, with
// mode 0700 if they are missing. It refuses one that is not a directory of this
// user alone.
func (d Dirs) Prepare() error {
	if err := private.MakeDir(d.Runtime); err != nil {
		return err
	}
	if err := d.chooseSockets(); err != nil {
		return err
	}
	for _, dir := range d.ours() {
		if err := private.MakeDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an error if one of the directories or settings files, git's
// included, belongs to another user, or if another user could have written it.
// Missing ones are fine. The error names every problem and says what to do.
// Nothing in them may be read or run before Check succeeds.
func (d Dirs) Check() error {
	all := &private.UnsafeError{}
	said := map[string]bool{}
	hint := ""
	places, err := gitPlaces()
	if err != nil {
		return err
	}
	for _, place := range append([]place{
		{private.Dir, d.Data, []string{"MIDDLEMAN_HOME", "XDG_DATA_HOME"}},
		{private.Dir, d.Runtime, []string{"MIDDLEMAN_HOME", "XDG_RUNTIME_DIR"}},
		{private.Dir, d.Sockets(), []string{"MIDDLEMAN_HOME", "XDG_RUNTIME_DIR"}},
		{private.Trusted, d.Config, []string{"MIDDLEMAN_HOME", "XDG_CONFIG_HOME"}},
		{private.Trusted, d.File(), []string{"MIDDLEMAN_HOME", "XDG_CONFIG_HOME"}},
		{private.Trusted, d.tmuxFile(), []string{"MIDDLEMAN_HOME", "XDG_CONFIG_HOME"}},
	}, places...) {
		err := place.check(place.path)
		unsafe, is := errors.AsType[*private.UnsafeError](err)
		switch {
		case err == nil || !is && errors.Is(err, fs.ErrNotExist):
			continue
		case !is:
			return err
		case all.Path == "":
			all.Path = place.path
		}
		for _, p := range unsafe.Problems {
			if !said[p.Path] {
				said[p.Path] = true
				all.Problems = append(all.Problems, p)
			}
		}
		if unsafe.Foreign() && hint == "" {
			hint = whose(place.variables)
		}
	}
	if len(all.Problems) == 0 {
		return nil
	}
	if hint != "" {
		return fmt.Errorf("%w; %s", all, hint)
	}
	return all
}

// whose says what to do if the directories belong to another user: it names the
// first of the variables that is set, which points there.
func whose(variables []string) string {
	for _, name := range variables {
		if os.Getenv(name) != "" {
			return fmt.Sprintf("%s points there, as it does after `su` without `-`: unset %s, or log in with `su -`", name, name)
		}
	}
	return "HOME points there: set HOME to your own directory, as `su -` and `sudo -H` do"
}

// Tighten removes the access that other users have to the directories that
// Prepare makes. It returns one line for each directory that it changed.
func (d Dirs) Tighten() (notes []string, err error) {
	for _, dir := range d.ours() {
		was, err := private.Tighten(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return notes, err
		}
		if was != 0 {
			notes = append(notes, fmt.Sprintf("other users could read %s (mode %04o): their permissions were removed", dir, was))
		}
	}
	return notes, nil
}
