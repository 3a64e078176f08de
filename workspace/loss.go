package workspace

import "slices"

// Named is l with the name of its workspace before each entry, for a list of
// several workspaces.
func (l Loss) Named(name string) Loss {
	prefixed := func(list []string) []string {
		out := make([]string, len(list))
		for i, entry := range list {
			out[i] = name + ": " + entry
		}
		return out
	}
	l.Changed, l.Untracked, l.Stashed, l.Commits = prefixed(l.Changed), prefixed(l.Untracked), prefixed(l.Stashed), prefixed(l.Commits)
	l.Ignored, l.Abandoned = prefixed(l.Ignored), prefixed(l.Abandoned)
	if l.Operation != "" {
		l.Operation = name + ": " + l.Operation
	}
	return l
}

// Join is what two workspaces would lose.
func (l Loss) Join(other Loss) Loss {
	l.Changed, l.Untracked = slices.Concat(l.Changed, other.Changed), slices.Concat(l.Untracked, other.Untracked)
	l.Stashed, l.Commits = slices.Concat(l.Stashed, other.Stashed), slices.Concat(l.Commits, other.Commits)
	l.Ignored, l.Abandoned = slices.Concat(l.Ignored, other.Ignored), slices.Concat(l.Abandoned, other.Abandoned)
	if l.Operation != "" && other.Operation != "" {
		l.Operation += ", "
	}
	l.Operation += other.Operation
	l.Truncated = l.Truncated || other.Truncated
	return l
}
