package model

import (
	"strings"
	"testing"
)

func TestGroup(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "/src/api", "api"},
		{"case", "/src/API", "api"},
		{"bare", "/src/api.git", "api"},
		{"bare, with its checkouts around it", "/src/api/.bare", "api"},
		{"of a git directory", "/src/api/.git", "api"},
		{"the file system", "/", "repository"},
		{"parent", "/src/..", "repository"},
		{"this", "", "repository"},
		{"only a suffix", "/.git", "repository"},
		{"dots", "/src/a..b.c", "a-b-c"},
		{"leading dash", "/src/--help", "help"},
		{"leading dot", "/src/.config", "config"},
		{"control characters", "/src/a\x1b[31m\nb", "a-31m-b"},
		{"not UTF-8", "/src/\xff\xfe", "repository"},
		{"another script", "/src/проект", "repository"},
		{"accents", "/src/Größe", "groesse"},
		{"long", "/src/" + strings.Repeat("ab", 120), strings.Repeat("ab", 32)},
		{"cut at a dash", "/src/" + strings.Repeat("a", 63) + "-b", strings.Repeat("a", 63)},
		{"a name of git's", "/src/refs.lock", "refs-lock"},
		{"spaces", "/src/ my  app ", "my-app"},
	} {
		if got := Group(tc.in); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// The group of any path is one component of a path, and a group of its own name.
func FuzzGroup(f *testing.F) {
	for _, in := range []string{"/src/api", "", "/", "..", "a\x00b", "/x/.git", "/\xff", "/ß.lock", "/con", "/src/" + strings.Repeat("é", 200)} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		group := Group(in)
		if !IsPlaceName(group) || len(group) > maxGroup || strings.ContainsAny(group, "./\\\x00 ") || Group("/"+group) != group {
			t.Errorf("%q: %q", in, group)
		}
	})
}
