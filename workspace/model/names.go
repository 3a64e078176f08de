package model

import (
	"fmt"
	"strings"

	"middleman/internal/plaintext"
)

// MaxSuffix bounds the names that are tried for one branch: fix, fix-2 ...
// fix-100.
const MaxSuffix = 100

// CheckID makes sure that an id is a plain file name.
func CheckID(id string) error {
	plain := len(id) > 0 && len(id) <= 64
	for _, c := range id {
		plain = plain && ('a' <= c && c <= 'z' || '0' <= c && c <= '9')
	}
	if !plain {
		return fmt.Errorf("workspace id %q: %w", id, ErrEscapes)
	}
	return nil
}

// MadeFor is what the reflog of a branch says that was made for a workspace.
func MadeFor(id string) string { return "middleman: workspace " + id }

// MadeID is the workspace that a branch was made for, by what the oldest entry
// of its reflog says, or "".
func MadeID(note string) string {
	if id, is := strings.CutPrefix(note, MadeFor("")); is && CheckID(id) == nil {
		return id
	}
	return ""
}

// LockReason is what git's entry of a worktree of ours is locked with.
func LockReason(id string) string { return "middleman workspace " + id }

// changeKinds are the bases that a forge keeps in refs of their own, and those.
var changeKinds = []struct{ prefix, ref string }{
	{"pr:", "refs/pull/%s/head"},
	{"mr:", "refs/merge-requests/%s/head"},
}

// ChangeRef is the remote's ref for a base such as "pr:12" or "mr:7", and ""
// for every other base: no branch has a colon in its name.
func ChangeRef(base string) (string, error) {
	for _, kind := range changeKinds {
		number, ok := strings.CutPrefix(base, kind.prefix)
		if !ok {
			continue
		}
		if number == "" || len(number) > 10 || strings.Trim(number, "0123456789") != "" || number[0] == '0' {
			return "", fmt.Errorf("base %s: want a number, such as %s12: %w", plaintext.Quoted(base[:min(len(base), 100)]), kind.prefix, ErrBadBase)
		}
		return fmt.Sprintf(kind.ref, number), nil
	}
	return "", nil
}

// IsChange reports whether base is a pull or merge request: its commits are on
// no branch of the remote, and are not lost with the workspace either.
func IsChange(base string) bool {
	ref, err := ChangeRef(base)
	return err == nil && ref != ""
}
