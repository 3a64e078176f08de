package model

import (
	"fmt"
	"path/filepath"
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

// Group returns the name of the directory for the worktrees of the repository at
// that path: its name as a slug. Names that differ only in case, or in characters
// that a slug has not, give one group: who makes it adds a number.
func Group(repository string) string {
	name := filepath.Base(repository)
	if name == ".git" || name == ".bare" { // of a bare repository with its checkouts around it
		name = filepath.Base(filepath.Dir(repository))
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(strings.TrimSuffix(name, ".git"), "-") {
		b.WriteString(slugRune(r))
	}
	group := strings.ReplaceAll(b.String(), ".", "-")
	for strings.Contains(group, "--") {
		group = strings.ReplaceAll(group, "--", "-")
	}
	group = strings.Trim(group, "-_")
	group = strings.TrimRight(group[:min(len(group), maxGroup)], "-_")
	if !IsPlaceName(group) {
		return "repository"
	}
	return group
}

// maxGroup is in bytes: a path with the group and the name of a workspace must
// stay short enough for programs that have limits of their own.
const maxGroup = 64

// IsPlaceName reports whether a group, or the directory of a worktree in one, can
// have that name. No such name begins with a dot, as those of directories do that
// a delete or a restore has in hand.
func IsPlaceName(name string) bool {
	slug, err := Slug(name)
	return err == nil && slug == name && filepath.IsLocal(name) // Windows has names of devices
}

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
