package workspaces

import (
	"strings"
	"testing"
)

func TestPatchScreen(t *testing.T) {
	patch := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\x1b]0;title\a\n+new\ttab \xff\n same\n\\ No newline"
	for _, tc := range []struct {
		name   string
		colour bool
		want   string
	}{
		{"plain", false, "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\\x1b]0;title\\x07\n+new\ttab \\xff\n same\n\\ No newline\n"},
		{"colour", true, "\x1b[1mdiff --git a/x b/x\x1b[m\n\x1b[1m--- a/x\x1b[m\n\x1b[1m+++ b/x\x1b[m\n\x1b[36m@@ -1 +1 @@\x1b[m\n" +
			"\x1b[31m-old\\x1b]0;title\\x07\x1b[m\n\x1b[32m+new\ttab \\xff\x1b[m\n same\n\\ No newline\n"},
	} {
		var out strings.Builder
		s := &patchScreen{to: &out, colour: tc.colour}
		for _, c := range []byte(patch) { // in the smallest pieces
			if n, err := s.Write([]byte{c}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		s.end()
		if out.String() != tc.want {
			t.Errorf("%s: %q", tc.name, out.String())
		}
	}
	var out strings.Builder
	s := &patchScreen{to: &out}
	if _, err := s.Write([]byte(strings.Repeat("x", 3*maxLine))); err != nil || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("a line without an end: %d lines, %v", strings.Count(out.String(), "\n"), err)
	}
}
