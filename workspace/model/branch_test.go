package model

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// needGit is testenv.NotUnderWine, which this package cannot import.
func needGit(t *testing.T) {
	t.Helper()
	if os.Getenv("MIDDLEMAN_WINE") != "" {
		t.Skip("not under Wine: it has no git")
	}
}

// What we take for a branch's name, git takes for one too, and the other way
// round.
func TestBranchNamesAsGit(t *testing.T) {
	needGit(t)
	for _, name := range []string{
		"a", "a/b", "middleman/fix-2", "ü", "a.b", "-x", "@", "a@b", "a.lockx", "a b", "a..b", "a/.b", "a//b", "/a", "a/", "a.", "a./b",
		"a.lock", "a.lock/b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "a@{b", "\x01", "\x7f", ".", "..", "a\xff",
	} {
		err := exec.Command("git", "check-ref-format", "refs/heads/"+name).Run()
		if is := err == nil; is != IsBranchName(name) {
			t.Errorf("%q: git says %v", name, is)
		}
	}
}

// What CheckBranch accepts, git makes a branch of, and reads as that branch.
func TestCheckBranch(t *testing.T) {
	needGit(t)
	for _, tc := range []struct {
		name string
		ok   bool
	}{
		{"fix/login", true}, {"a-", true}, {"a@b", true}, {"ü", true}, {"heads/a", true}, {"x/refs/a", true},
		{strings.Repeat("a", 200), true}, {strings.Repeat("a", 201), false}, {strings.Repeat("a/", 512) + "a", false},
		{"--help", false}, {"-", false}, {"@", false}, {"@{-1}", false}, {"HEAD", false}, {"refs/q", false}, {"refs/heads/q", false},
		{"", false}, {"a..b", false}, {"../x", false}, {"a.lock", false}, {"a\x00b", false}, {"a\nb", false},
	} {
		err := CheckBranch(tc.name)
		if tc.ok != (err == nil) || err != nil && (!errors.Is(err, ErrBadName) || strings.ContainsAny(err.Error(), "\n\x00")) {
			t.Errorf("%q: %v", tc.name, err)
		}
		if strings.Contains(tc.name, "\x00") {
			continue // no argument can hold it
		}
		out, err := exec.Command("git", "check-ref-format", "--branch", tc.name).Output()
		if tc.ok && (err != nil || strings.TrimSpace(string(out)) != tc.name) {
			t.Errorf("%q: git reads it as %q, %v", tc.name, out, err)
		}
	}
}
