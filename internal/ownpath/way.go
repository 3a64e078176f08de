package ownpath

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/dirid"
)

// Way is how the kernel gets to a path, as it was at the call of To.
type Way struct {
	path  string
	steps []string        // path as it is written, and the directories that it leads through
	which map[string]bool // the identities of these
}

// To looks at an absolute path. Parts of it need not exist.
func To(path string) Way {
	w := Way{path, append(trail(path), path), map[string]bool{}}
	for _, step := range w.steps {
		if which := dirid.Of(step); which != "" {
			w.which[which] = true
		}
	}
	return w
}

// Through reports whether whoever can write to o, and to all below, can change what the
// path leads to: it leads into o, or through it, by the path of o or by its identity.
func (w Way) Through(o Open) bool {
	return w.which[o.Which] || slices.ContainsFunc(w.steps, func(step string) bool { return within(step, o.Dir) })
}

// Around reports whether o lies in the directory at the path. An o that was moved together
// with directories above it is found if they have the same names below that path.
func (w Way) Around(o Open) bool {
	if within(o.Dir, w.path) {
		return true
	}
	if o.Which == "" {
		return false
	}
	names := split(o.Dir)
	for i := range len(names) + 1 {
		if dirid.Of(filepath.Join(append([]string{w.path}, names[i:]...)...)) == o.Which {
			return true
		}
	}
	return false
}

// Reaches reports whether whoever can write to dir, and to all below, can change what the
// absolute path leads to.
func Reaches(path, dir string) bool { return To(path).Through(Open{Dir: dir}) }

func within(path, dir string) bool {
	below, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(below)
}

func split(path string) []string {
	return strings.Split(path[len(filepath.VolumeName(path)):], string(filepath.Separator))
}

const maxLinks = 40 // as the kernel has it

// trail returns each directory in which the kernel looks a part of an absolute path up,
// with links followed, and what is at its end. It ends early at what is not there.
func trail(path string) (steps []string) {
	root := filepath.VolumeName(path) + string(filepath.Separator)
	at, todo, links := root, split(path), 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		steps = append(steps, at)
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil { // no link, or nothing
			at = next
			continue
		}
		if links++; links > maxLinks {
			return steps
		}
		if todo = append(split(target), todo...); filepath.IsAbs(target) {
			at = root
		}
	}
	return append(steps, at)
}
