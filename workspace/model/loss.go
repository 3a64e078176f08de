package model

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// InSandbox begins each entry of a Loss that is in the private git directory of the
	// workspace's sandboxed sessions alone.
	InSandbox = "sandbox: "
	// InSandboxCommit follows it in lists where not each entry is a commit.
	InSandboxCommit = "commit "
)

// MaxListed is the maximal length of each list of a Loss.
const MaxListed = 100

// Loss is what a delete would destroy. Truncated says that a list was cut at
// MaxListed. Ignored, Abandoned and Merged are for information, and do not stop a
// delete.
type Loss struct {
	Changed   []string `json:"changed,omitempty" doc:"Changed, staged or deleted tracked files"`
	Untracked []string `json:"untracked,omitempty" doc:"Files that git does not know, and repositories and worktrees in the workspace, ignored or not; worktrees elsewhere of these and of its submodules"`
	// UntrackedMore is how many more files there are than entries of Untracked: a
	// directory at the top with many is one entry.
	UntrackedMore int      `json:"untracked_more,omitempty" doc:"How many more untracked files there are than entries: a directory at the top with many is one entry"`
	Stashed       []string `json:"stashed,omitempty" doc:"Stashes made on this branch"`
	Commits       []string `json:"commits,omitempty" doc:"Commits that are on no other branch and no remote"`
	Large         []string `json:"large,omitempty" doc:"Ignored files and directories that are too large to be kept, and do not look like build results, caches or logs"`
	Operation     string   `json:"operation,omitempty" doc:"A merge, rebase, cherry-pick or bisect in progress"`
	Ignored       []string `json:"ignored,omitempty" doc:"Files and directories that git ignores; they are no reason to refuse a delete"`
	Abandoned     []string `json:"abandoned,omitempty" doc:"Commits, tags and other objects that only reflogs or refs hold which go with the worktree, or with repositories of its submodules; they are no reason to refuse a delete"`
	Merged        []string `json:"merged,omitempty" doc:"Commits that are nowhere else, as after a squash or a rebase, but whose changes are all in the base; they are no reason to refuse a delete"`
	Truncated     bool     `json:"truncated,omitempty"`
	// Warnings say what stays although one would expect it to go, one per line.
	Warnings []string `json:"-"`
	// Restorable says that a delete kept, or would keep, enough for Restore to
	// bring back everything except Unkept: ignored files that are too large,
	// and sockets and the like, one per line.
	Restorable bool     `json:"-"`
	Unkept     []string `json:"-"`
	// Sandboxed says that the private git directory of the workspace's sandboxed sessions
	// holds some of it, or that this is not known.
	Sandboxed bool `json:"-"`
}

// Empty reports whether no work would be lost.
func (l Loss) Empty() bool {
	return len(l.Changed) == 0 && len(l.Untracked) == 0 && len(l.Stashed) == 0 && len(l.Commits) == 0 && len(l.Large) == 0 && l.Operation == ""
}

// Work returns what of l is a reason to refuse a delete.
func (l Loss) Work() Loss {
	l.Ignored, l.Abandoned, l.Merged = nil, nil, nil
	return l
}

// Summary describes the work that would be lost, such as "2 changed files, 1
// commit that is nowhere else". It returns "nothing" for an empty loss.
func (l Loss) Summary() string {
	var parts []string
	full := false
	count := func(list []string, more int, one, many string) {
		full = full || len(list) == MaxListed
		switch n := len(list) + more; {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	count(l.Changed, 0, "changed file", "changed files")
	count(l.Untracked, l.UntrackedMore, "untracked file", "untracked files")
	count(l.Commits, 0, "commit that is nowhere else", "commits that are nowhere else")
	count(l.Stashed, 0, "stash", "stashes")
	count(l.Large, 0, "ignored file too large to be kept", "ignored files too large to be kept")
	if l.Operation != "" {
		parts = append(parts, "a "+l.Operation+" in progress")
	}
	if len(parts) == 0 {
		return "nothing"
	}
	if l.Truncated && full {
		parts = append(parts, "and more")
	}
	return strings.Join(parts, ", ")
}

// Named returns l with the workspace's name before each entry, for a list of
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
	l.Large, l.Ignored, l.Abandoned, l.Merged = prefixed(l.Large), prefixed(l.Ignored), prefixed(l.Abandoned), prefixed(l.Merged)
	if l.Operation != "" {
		l.Operation = name + ": " + l.Operation
	}
	return l
}

// Join returns the loss of both.
func (l Loss) Join(other Loss) Loss {
	l.Changed, l.Untracked = slices.Concat(l.Changed, other.Changed), slices.Concat(l.Untracked, other.Untracked)
	l.UntrackedMore += other.UntrackedMore
	l.Stashed, l.Commits = slices.Concat(l.Stashed, other.Stashed), slices.Concat(l.Commits, other.Commits)
	l.Ignored, l.Abandoned = slices.Concat(l.Ignored, other.Ignored), slices.Concat(l.Abandoned, other.Abandoned)
	l.Large, l.Merged = slices.Concat(l.Large, other.Large), slices.Concat(l.Merged, other.Merged)
	if l.Operation != "" && other.Operation != "" {
		l.Operation += ", "
	}
	l.Operation += other.Operation
	l.Truncated = l.Truncated || other.Truncated
	return l
}

// WithSandbox returns l with what the private git directory of the workspace has, a loss
// whose entries begin with InSandbox. What l has too is listed once.
func (l Loss) WithSandbox(private Loss) Loss {
	add := func(list, more []string) []string {
		list = slices.Clone(list)
		for _, entry := range more {
			switch {
			case slices.Contains(list, strings.TrimPrefix(strings.TrimPrefix(entry, InSandbox), InSandboxCommit)):
			case len(list) >= MaxListed:
				l.Truncated = true
			default:
				list = append(list, entry)
			}
		}
		return list
	}
	l.Stashed, l.Commits, l.Abandoned = add(l.Stashed, private.Stashed), add(l.Commits, private.Commits), add(l.Abandoned, private.Abandoned)
	if l.Operation == "" {
		l.Operation = private.Operation
	}
	l.Truncated = l.Truncated || private.Truncated
	l.Sandboxed = l.Sandboxed || !private.Nothing()
	return l
}

// Nothing reports whether there is neither work nor anything that only reflogs or refs
// hold.
func (l Loss) Nothing() bool { return l.Empty() && len(l.Abandoned) == 0 }
