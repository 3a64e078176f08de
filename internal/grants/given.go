package grants

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/bundle"
)

// Readable returns the paths of the mounts that the program may only read.
func (g Given) Readable() []string { return g.paths(false) }

// Writable returns the paths of the mounts that the program may change.
func (g Given) Writable() []string { return g.paths(true) }

func (g Given) paths(write bool) (paths []string) {
	for _, m := range g.Mounts {
		if m.Write == write {
			paths = append(paths, m.Path)
		}
	}
	return paths
}

// Variables returns the variables that lead the program to its mounts, as NAME=value.
// home stands for "~".
func (g Given) Variables(home string) (entries []string) {
	for _, m := range g.Mounts {
		path := m.Path
		if rest, is := strings.CutPrefix(path, "~/"); is {
			path = filepath.Join(home, rest)
		}
		entries = append(entries, m.variable()+"="+path)
	}
	return entries
}

// Note names what is optional and was refused, "" for nothing.
func (g Given) Note() string {
	var without []string
	for _, grant := range g.Grants {
		if grant.Result == bundle.Refused {
			without = append(without, grant.Asked)
		}
	}
	if len(without) == 0 {
		return ""
	}
	return "it does not have what this host refuses: " + strings.Join(without, ", ")
}

// Variables returns the variables with the values of g's secrets, as NAME=value. One that
// is optional and that this host does not have becomes refused in g.
func (r Resolver) Variables(ctx context.Context, g *Given) (entries []string, err error) {
	for _, variable := range slices.Sorted(maps.Keys(g.Secrets)) {
		name := g.Secrets[variable]
		value, err := r.secret(ctx, name)
		if _, none := errors.AsType[noSecret](err); none && g.doWithout(bundle.Ref{Kind: bundle.Secret, Name: name}, err) {
			delete(g.Secrets, variable)
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, variable+"="+value)
	}
	return entries, nil
}

// doWithout makes what is optional refused because of err, and reports whether it is.
func (g *Given) doWithout(ref bundle.Ref, err error) bool {
	for i := range g.Grants {
		if grant := &g.Grants[i]; grant.Asked == ref.String() && grant.Optional {
			grant.Result, grant.Given, grant.Reason = bundle.Refused, "", strings.TrimPrefix(err.Error(), ref.String()+": ")
			return true
		}
	}
	return false
}
