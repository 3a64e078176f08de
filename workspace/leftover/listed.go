package leftover

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/git"
	"middleman/terminal"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// listed is an open directory that holds workspaces, and the names in it.
type listed struct {
	root  *os.Root
	group bool   // it is a group in a base
	given string // it is a base that the user named, or in it; the path of that base
	names []string
}

// own reports whether b is the manager's own base or in it. Other managers may use
// another directory too, so an entry without a record there may be theirs.
func (b *listed) own() bool { return !b.scoped() && b.given == "" }

// scoped reports whether b is the directory for workspaces in a scope.
func (b *listed) scoped() bool {
	_, scoped := basedir.ScopeOf(filepath.Join(b.root.Name(), "x"))
	return scoped && b.given == ""
}

// foreign reports whether what has that name in b is not ours: in a base that the
// user named there may be anything, so only what git has locked as ours counts, and
// what a delete or a restore has in hand.
func (b *listed) foreign(name string) bool {
	if b.given == "" {
		return false
	}
	kind, id := b.kindOf(name)
	if of, _, late := strings.Cut(name, basedir.LateMark); late {
		return terminal.CheckID(of) != nil
	}
	if kind != KindDirectory {
		return terminal.CheckID(id) != nil
	}
	entry, err := git.ReadPath(filepath.Join(b.root.Name(), name, ".git"), filepath.Join(b.root.Name(), name))
	if err != nil {
		return basedir.Linked(b.root, id) != name
	}
	reason, err := git.LockReason(filepath.Join(entry, "locked"))
	return err != nil || reason != git.WorkspaceReason(id)
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
			if !errors.Is(openErr, basedir.ErrNoGroup) && base.given == "" { // else it is the user's
				err = errors.Join(err, openErr)
			}
			continue
		}
		group := &listed{root: root, group: true, given: base.given}
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
	if b.given != "" {
		return slices.ContainsFunc(b.names, func(n string) bool { return !b.foreign(n) })
	}
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

// open opens and lists the bases of f that are there, and their groups.
func (f Finder) open() (all []*listed, err error) {
	for i, path := range f.bases() {
		root, openErr := basedir.Open(path)
		if errors.Is(openErr, fs.ErrNotExist) {
			continue
		}
		if err = openErr; err != nil {
			break
		}
		base := &listed{root: root}
		if i > 0 {
			base.given = root.Name()
		}
		all = append(all, base)
		if base.names, err = basedir.Names(root); err != nil {
			break
		}
		groups, groupErr := openGroups(base)
		all = append(all, groups...)
		if i > 0 {
			base.names = nil
		}
		if err = groupErr; err != nil {
			break
		}
	}
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

// findGiven lists the groups in the base directories that the user has named, now or
// for a recorded workspace.
func (s *survey) findGiven() {
	seen := map[string]bool{}
	for _, w := range slices.Concat(s.Workspaces, s.Deleted) {
		if w.BaseDir != "" {
			seen[w.BaseDir] = true
		}
	}
	for _, path := range s.f.Given {
		seen[path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(seen)) {
		root, err := basedir.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			s.unknown(path, err)
			continue
		}
		if s.base(root.Name()) != nil {
			_ = root.Close()
			continue
		}
		base := &listed{root: root, given: root.Name()}
		groups, err := openGroups(base)
		s.bases = append(append(s.bases, base), groups...)
		if err != nil {
			s.unknown(path, err)
		}
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
	if b == nil && (top == nil || top.group || top.scoped() || !basedir.IsPlace(top.root.Name(), root)) || model.CheckID(entry) != nil {
		return ""
	}
	return entry
}
