package leftover

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/terminal"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// listed is an open directory that holds workspaces, and the names in it.
type listed struct {
	root  *os.Root
	group bool // it is a group in the manager's own base
	names []string
}

// own reports whether b is the manager's own base or in it. Other managers may use a
// directory in a scope too, so an entry without a record there may be theirs.
func (b *listed) own() bool {
	_, scoped := basedir.ScopeOf(filepath.Join(b.root.Name(), "x"))
	return !scoped
}

// kindOf returns what kind of entry a name in b is, and the workspace's id. In a
// group only git's files tell the id of a worktree: that of its .git, or that of the
// link with which a creation began.
func (b *listed) kindOf(name string) (kind Kind, id string) {
	kind, id = kindOf(name)
	if !b.group || kind != KindDirectory {
		return kind, id
	}
	if claimed := basedir.ClaimedBy(filepath.Join(b.root.Name(), name)); claimed != "" {
		return kind, claimed
	}
	for _, link := range b.names {
		if link != name && basedir.Linked(b.root, link) == name {
			return kind, link
		}
	}
	return kind, name
}

// moved reports whether path, in the group b, is where w is since its base was moved.
func (b *listed) moved(w model.Workspace, path string) bool {
	return basedir.InBase(filepath.Dir(b.root.Name()), w) == path
}

// listGroups lists the groups in the manager's own base, which is listed, and takes
// their names off its list.
func (s *survey) listGroups() {
	if len(s.bases) == 0 {
		return
	}
	base := s.bases[0]
	groups, err := openGroups(base)
	s.bases = append(s.bases, groups...)
	if err != nil {
		s.unknown(base.root.Name(), err)
	}
}

// openGroups opens and lists the groups in base, and takes their names off its list.
func openGroups(base *listed) (groups []*listed, err error) {
	names, err := basedir.Groups(base.root)
	for _, name := range names {
		root, openErr := basedir.OpenGroup(base.root, name, false)
		if openErr != nil {
			if !errors.Is(openErr, basedir.ErrNoGroup) {
				err = errors.Join(err, openErr)
			}
			continue
		}
		group := &listed{root: root, group: true}
		var listErr error
		if group.names, listErr = basedir.Names(root); listErr != nil || !group.isGroup(name) {
			err = errors.Join(err, listErr, root.Close())
			continue
		}
		groups = append(groups, group)
		base.names = slices.DeleteFunc(base.names, func(n string) bool { return n == name })
	}
	return groups, err
}

// isGroup reports whether something in b is ours. An empty directory of a name that
// no workspace of an earlier version had was a group.
func (b *listed) isGroup(name string) bool {
	for _, n := range b.names {
		kind, _ := kindOf(n)
		if kind != KindDirectory || isLate(n) || basedir.Linked(b.root, n) != "" || basedir.ClaimedBy(filepath.Join(b.root.Name(), n)) != "" {
			return true
		}
	}
	return len(b.names) == 0 && terminal.CheckID(name) != nil
}

// isLate reports whether a name is that of files which a program wrote while a
// workspace was deleted.
func isLate(name string) bool {
	of, _, late := strings.Cut(name, basedir.LateMark)
	return late && model.CheckID(of) == nil
}

// open opens and lists the base of f, if it is there, and its groups.
func (f Finder) open() ([]*listed, error) {
	root, err := basedir.Open(f.Base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	base := &listed{root: root}
	if base.names, err = basedir.Names(root); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	groups, err := openGroups(base)
	all := append([]*listed{base}, groups...)
	if err != nil {
		closeAll(all)
		return nil, err
	}
	return all, nil
}

func closeAll(list []*listed) {
	for _, b := range list {
		_ = b.root.Close()
	}
}

// list adds the names in root, or reports err, the error of opening it. A
// missing directory holds nothing.
func (s *survey) list(root *os.Root, path string, err error) {
	if err == nil {
		var names []string
		if names, err = basedir.Names(root); err == nil {
			s.bases = append(s.bases, &listed{root: root, names: names})
			return
		}
		_ = root.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.unknown(path, err)
	}
}

// base returns the listed directory with that path, or nil.
func (s *survey) base(path string) *listed {
	i := slices.IndexFunc(s.bases, func(b *listed) bool { return b.root.Name() == path })
	if i < 0 {
		return nil
	}
	return s.bases[i]
}

// idOf returns the id of the workspace whose worktree was at root, where git's entry
// for it has that name, or "" if root is in no listed directory. A group may be gone
// with its last workspace.
func (s *survey) idOf(entry, root string) string {
	b := s.base(filepath.Dir(root))
	if b != nil && !b.group {
		return filepath.Base(root)
	}
	top := s.base(filepath.Dir(filepath.Dir(root)))
	if b == nil && (top == nil || !top.own() || !basedir.IsPlace(top.root.Name(), root)) || model.CheckID(entry) != nil {
		return ""
	}
	return entry
}
