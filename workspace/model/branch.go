package model

import (
	"fmt"
	"strings"

	"middleman/internal/plaintext"
)

// maxBranchPart is in bytes. git keeps each part of a branch's name as the name of
// a file, and git and a restore append to that.
const maxBranchPart = 200

// CheckBranch refuses with ErrBadName a name that git does not accept for a branch,
// and one that git accepts in places but reads elsewhere as an option or another ref.
func CheckBranch(name string) error {
	if name == "@" || name == "HEAD" || strings.HasPrefix(name, "refs/") {
		return fmt.Errorf("branch %s: git reads that as another ref; give a plain name such as fix/login: %w", plaintext.Quoted(name), ErrBadName)
	}
	usable := IsBranchName(name) && name[0] != '-'
	for part := range strings.SplitSeq(name, "/") {
		usable = usable && len(part) <= maxBranchPart
	}
	if !usable {
		return fmt.Errorf("branch %s: %w", plaintext.Quoted(name[:min(len(name), 100)]), ErrBadName)
	}
	return nil
}

// IsBranchName reports whether a ref refs/heads/<name> can exist, by the rules of
// git-check-ref-format(1).
func IsBranchName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if !IsRefComponent(part) {
			return false
		}
	}
	return len(name) <= 1024 && !strings.HasSuffix(name, ".")
}

// IsRefComponent reports whether a ref can have that part between two slashes.
func IsRefComponent(part string) bool {
	for _, c := range []byte(part) {
		if c <= ' ' || c == 0x7f {
			return false
		}
	}
	return part != "" && part[0] != '.' && !strings.HasSuffix(part, ".lock") && !strings.ContainsAny(part, "~^:?*[\\/") &&
		!strings.Contains(part, "..") && !strings.Contains(part, "@{")
}
