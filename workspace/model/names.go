package model

import (
	"fmt"
	"strings"

	"middleman/internal/plaintext"
)

// MaxSuffix is how many names are tried for one branch: fix, fix-2 ... fix-100.
const MaxSuffix = 100

// CheckID checks that an id is 1 to 64 lower-case ASCII letters and digits.
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

// MadeFor is the first reflog message of a branch that is made for a workspace.
func MadeFor(id string) string { return "middleman: workspace " + id }

// MadeID returns the workspace's id from the first reflog message of its
// branch, or "".
func MadeID(note string) string {
	if id, is := strings.CutPrefix(note, MadeFor("")); is && CheckID(id) == nil {
		return id
	}
	return ""
}

// LockReason is the reason with which our worktrees are locked in git.
func LockReason(id string) string { return "middleman workspace " + id }

// changeKinds are the kinds of bases that a forge keeps in refs of their own.
var changeKinds = []struct{ prefix, ref string }{
	{"pr:", "refs/pull/%s/head"},
	{"mr:", "refs/merge-requests/%s/head"},
}

// ChangeRef returns the remote's ref for a base such as "pr:12" or "mr:7". It
// returns "" for every other base: no branch has a colon in its name.
func ChangeRef(base string) (string, error) {
	for _, kind := range changeKinds {
		number, ok := strings.CutPrefix(base, kind.prefix)
		if !ok {
			continue
		}
		if number == "" || len(number) > 10 || strings.Trim(number, "0123456789") != "" || number[0] == '0' {
			return "", fmt.Errorf("base %s: it must be a number, such as %s12: %w", plaintext.Quoted(base[:min(len(base), 100)]), kind.prefix, ErrBadBase)
		}
		return fmt.Sprintf(kind.ref, number), nil
	}
	return "", nil
}

// IsChange reports whether base is a pull or merge request. Its commits are on
// no branch of the remote, but are not lost with the workspace.
func IsChange(base string) bool {
	ref, err := ChangeRef(base)
	return err == nil && ref != ""
}
