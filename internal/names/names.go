// Package names finds the workspace that a text means, and the shortest text
// that means a workspace. A workspace's name is unique in its repository. NAME
// means the only workspace of that name, NAME@REPOSITORY the one in that
// repository.
//
// A repository is named by the end of its path: api, or work/api where another
// repository ends in api too. No text guesses: what means several workspaces is
// an *AmbiguousError.
package names

import (
	"fmt"
	"slices"
	"strings"
)

// noRepository is the repository's name in the label of a workspace that is in
// none.
const noRepository = "directory"

// Workspace is what a Set knows of a workspace.
type Workspace struct {
	ID, Name   string
	Repository string // the path of its repository, "" for none
}

// Set is a list of workspaces, each with its label. The zero value is an empty
// one.
type Set struct {
	list         []Workspace
	repositories map[string]string // names, by path
	shared       map[string]bool   // the names that workspaces in several repositories have
}

// New returns the set of these workspaces, in their order.
func New(list []Workspace) Set {
	paths, first := map[string]bool{}, map[string]Workspace{}
	s := Set{list: list, shared: map[string]bool{}}
	for _, w := range list {
		paths[w.Repository] = true
		if other, ok := first[w.Name]; !ok {
			first[w.Name] = w
		} else if other.Repository != w.Repository {
			s.shared[w.Name] = true
		}
	}
	s.repositories = nameRepositories(paths)
	return s
}

// Label returns the text that means w and no other workspace of the set: its
// name, or NAME@REPOSITORY if the set has that name in several repositories. w
// itself need not be in the set.
func (s Set) Label(w Workspace) string {
	other := func(o Workspace) bool { return o.Name == w.Name && o.Repository != w.Repository && o.ID != w.ID }
	if !s.shared[w.Name] && !slices.ContainsFunc(s.list, other) {
		return w.Name
	}
	return s.qualified(w)
}

func (s Set) qualified(w Workspace) string { return w.Name + "@" + s.Repository(w.Repository) }

// Repository returns the name of the repository with that path: as many parts
// of the end of the path as no other repository of the set has.
func (s Set) Repository(path string) string {
	if name, ok := s.repositories[path]; ok {
		return name
	}
	return ending(path, 1)
}

// AmbiguousError says that a text means workspaces of several repositories.
type AmbiguousError struct {
	Text   string
	Labels []string // of these workspaces
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q means several workspaces: name one of %s", e.Text, strings.Join(e.Labels, ", "))
}

// NoneError says that no workspace is meant by a text.
type NoneError struct {
	Kind, Text string
	Near       []string // the labels that may have been meant
}

func (e *NoneError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("there is no %s %q; `middleman ls --all` lists them", e.Kind, e.Text)
	}
	return fmt.Sprintf("there is no %s %q; did you mean %s?", e.Kind, e.Text, strings.Join(e.Near, " or "))
}

// Find returns the index of the workspace that text means: its id, its name, or
// NAME@REPOSITORY. Unless exact, the beginning of a name or of a repository is
// enough if no other begins so. The error is a *NoneError or an
// *AmbiguousError.
func (s Set) Find(text string, exact bool) (int, error) {
	found := s.All(text, exact)
	switch len(found) {
	case 0:
		return -1, s.None("workspace", text)
	case 1:
		return found[0], nil
	}
	var labels []string
	for _, i := range found {
		label := s.qualified(s.list[i])
		if slices.Contains(labels, label) { // no such text tells these apart
			label = s.list[i].ID
		}
		labels = append(labels, label)
	}
	return -1, &AmbiguousError{text, labels}
}

// None returns the error for a text that means no workspace. It calls what the
// text should mean kind.
func (s Set) None(kind, text string) *NoneError {
	name, _, full := strings.Cut(text, "@")
	compared, shown := make([]string, len(s.list)), make([]string, len(s.list))
	for i, w := range s.list {
		switch compared[i], shown[i] = w.Name, s.Label(w); {
		case full && w.Name == name: // in a repository that was not meant
			compared[i], shown[i] = text+".", s.qualified(w)
		case full:
			compared[i] = s.qualified(w)
		}
	}
	return &NoneError{kind, text, nearest(text, compared, shown)}
}

// All returns the indexes of all workspaces that Find would take for text. They
// have one name.
func (s Set) All(text string, exact bool) (found []int) {
	name, repository, full := strings.Cut(text, "@")
	for i, w := range s.list {
		if w.ID == text && text != "" {
			return []int{i}
		}
		if w.Name == name && (!full || s.isNamed(w.Repository, repository)) {
			found = append(found, i)
		}
	}
	isLabel := func(i int) bool { return s.qualified(s.list[i]) == text }
	if slices.ContainsFunc(found, isLabel) { // before those whose paths only end so
		return slices.DeleteFunc(found, func(i int) bool { return !isLabel(i) })
	}
	if len(found) > 0 || exact || name == "" {
		return found
	}
	for i, w := range s.list {
		if strings.HasPrefix(w.Name, name) && (!full || s.begins(w.Repository, repository)) {
			found = append(found, i)
		}
	}
	for _, i := range found {
		if s.list[i].Name != s.list[found[0]].Name {
			return nil
		}
	}
	return found
}

// isNamed reports whether text names the repository at path: by its name, or by
// more of the end of its path.
func (s Set) isNamed(path, text string) bool {
	if text == "" {
		return false
	}
	return text == s.Repository(path) || text == path || path != "" && !strings.HasPrefix(text, "/") && strings.HasSuffix("/"+trimmed(path), "/"+text)
}

// begins reports whether text is the beginning of the repository's name, or
// names it.
func (s Set) begins(path, text string) bool {
	return strings.HasPrefix(s.Repository(path), text) || s.isNamed(path, text)
}

// nameRepositories gives each path the shortest ending that no other path has,
// or if there is none the whole path.
func nameRepositories(paths map[string]bool) map[string]string {
	count := map[string]int{noRepository: 1}
	for path := range paths {
		for n := 1; n <= parts(path); n++ {
			count[ending(path, n)]++
		}
	}
	names := map[string]string{}
	for path := range paths {
		n := 1
		for n < parts(path) && count[ending(path, n)] > 1 {
			n++
		}
		if names[path] = ending(path, n); path != "" && count[names[path]] > 1 {
			names[path] = path
		}
	}
	return names
}

// trimmed returns a repository's path with slashes, without what only says that
// it is a bare repository: x.git, x/.git and x/.bare are x.
func trimmed(path string) string {
	path = strings.Trim(strings.ReplaceAll(path, `\`, "/"), "/")
	for _, end := range []string{"/.git", "/.bare", ".git"} {
		if short := strings.TrimSuffix(path, end); short != "" && !strings.HasSuffix(short, "/") {
			path = short
		}
	}
	return path
}

func parts(path string) int { return strings.Count(trimmed(path), "/") + 1 }

// ending returns the last n parts of a repository's path.
func ending(path string, n int) string {
	if path == "" {
		return noRepository
	}
	list := strings.Split(trimmed(path), "/")
	return strings.Join(list[max(0, len(list)-n):], "/")
}
