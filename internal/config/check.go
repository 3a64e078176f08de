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

// Check returns an error if one of the directories or settings files, git's and what
// these include among them, belongs to another user, or if another user could have
// written it. Missing ones are fine. The error names every problem and says what to do.
// Nothing in them may be read or run before Check succeeds.
func (d Dirs) Check() error {
	places, err := gitPlaces()
	if err != nil {
		return err
	}
	places = append([]place{
		{check: private.Dir, path: d.Data, variables: []string{"MIDDLEMAN_HOME", "XDG_DATA_HOME"}},
		{check: private.Dir, path: d.Runtime, variables: []string{"MIDDLEMAN_HOME", "XDG_RUNTIME_DIR"}},
		{check: private.Dir, path: d.Sockets(), variables: []string{"MIDDLEMAN_HOME", "XDG_RUNTIME_DIR"}},
		{check: private.Trusted, path: d.Config, variables: []string{"MIDDLEMAN_HOME", "XDG_CONFIG_HOME"}},
		{check: private.Trusted, path: d.File(), variables: []string{"MIDDLEMAN_HOME", "XDG_CONFIG_HOME"}},
		{check: private.Trusted, path: d.tmuxFile(), variables: []string{"MIDDLEMAN_HOME", "XDG_CONFIG_HOME"}},
	}, places...)
	found := problems{said: map[string]bool{}}
	for n := 0; n < len(places); n++ {
		clean, err := found.look(places[n])
		if err == nil && clean {
			places, err = places[n].withIncluded(places)
		}
		if err != nil {
			return err
		}
	}
	return found.orNil()
}

// problems are those that Check has found.
type problems struct {
	unsafe private.UnsafeError
	said   map[string]bool // by path
	hint   string
}

// look checks a place, and reports whether it is there and nothing is wrong with it.
func (f *problems) look(at place) (clean bool, err error) {
	err = at.check(at.path)
	unsafe, is := errors.AsType[*private.UnsafeError](err)
	switch {
	case err == nil:
		return true, nil
	case !is && errors.Is(err, fs.ErrNotExist):
		return false, nil
	case !is:
		return false, err
	case f.unsafe.Path == "":
		f.unsafe.Path = at.path
	}
	for _, p := range unsafe.Problems {
		if !f.said[p.Path] {
			f.said[p.Path] = true
			f.unsafe.Problems = append(f.unsafe.Problems, p)
		}
	}
	if unsafe.Foreign() && f.hint == "" {
		f.hint = at.whose()
	}
	return false, nil
}

func (f *problems) orNil() error {
	switch {
	case len(f.unsafe.Problems) == 0:
		return nil
	case f.hint != "":
		return fmt.Errorf("%w; %s", &f.unsafe, f.hint)
	}
	return &f.unsafe
}

// whose says what to do if a place belongs to another user: it names the file that
// includes it, or the first of the variables that is set, which points there.
func (p place) whose() string {
	if p.by != "" {
		return fmt.Sprintf("%s includes it: keep a copy of your own, and include that", p.by)
	}
	for _, name := range p.variables {
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
