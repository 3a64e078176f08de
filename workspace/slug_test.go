package workspace_test

import (
	"errors"
	"strings"
	"testing"

	"middleman/workspace"
)

func TestSlug(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "fix-login", "fix-login"},
		{"spaces", "  Fix the  login ", "fix-the-login"},
		{"case folds", "FIX", "fix"},
		{"accents", "Größe naïve Çelik", "groesse-naive-celik"},
		{"punctuation", "what? a: b~c^d@{e}[f]*", "what-a-b-c-d-e-f"},
		{"dots", "v1.2", "v1.2"},
		{"end", "fix.-_", "fix"},
		{"kelvin sign is a k", "\u212aelvin", "kelvin"},
		{"other scripts next to ASCII", "日本 fix", "fix"},
		{"longest", strings.Repeat("a", 100), strings.Repeat("a", 100)},
		{"empty", "", ""},
		{"nothing left", "日本語", ""},
		{"only punctuation", "???", ""},
		{"parent", "..", ""},
		{"parent inside", "a..b", ""},
		{"slash", "a/b", ""},
		{"backslash", `a\b`, ""},
		{"option", "-x", ""},
		{"git", ".git", ""},
		{"git in capitals", ".GIT", ""},
		{"hidden", ".hidden", ""},
		{"lock", "fix.lock", ""},
		{"NUL", "a\x00b", ""},
		{"newline", "a\nb", ""},
		{"escape", "a\x1b[31mb", ""},
		{"right-to-left override", "a\u202eb", ""},
		{"zero width", "a\u200bb", ""},
		{"not UTF-8", "a\xffb", ""},
		{"too long", strings.Repeat("a", 101), ""},
		{"far too long", strings.Repeat("a", 300), ""},
		{"grows too long", strings.Repeat("ö", 50) + "s", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := workspace.Slug(tc.in)
			if got != tc.want {
				t.Errorf("Slug(%q) = %q, want %q", tc.in, got, tc.want)
			}
			if refused := errors.Is(err, workspace.ErrBadName); refused != (tc.want == "") {
				t.Errorf("Slug(%q) error: %v", tc.in, err)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\n\x1b\x00") {
				t.Errorf("Slug(%q) error is not one printable line: %q", tc.in, err)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	for _, tc := range []struct{ name, in, want, branch string }{
		{"plain", "Fix Login", "fix-login", ""},
		{"branch", "feature/x", "feature-x", "feature/x"},
		{"as typed", "JIRA-1/Fix_it", "jira-1-fix_it", "JIRA-1/Fix_it"},
		{"deep", "a/b/c.d", "a-b-c.d", "a/b/c.d"},
		{"escape", "../../escape", "", ""},
		{"absolute", "/etc/passwd", "", ""},
		{"at its end", "a/", "", ""},
		{"empty part", "a//b", "", ""},
		{"hidden part", "a/.git", "", ""},
		{"option", "-a/b", "", ""},
		{"control character", "a/b\x1b[m", "", ""},
		{"too long", strings.Repeat("a/", 51) + "b", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			name, branch, err := workspace.Named(tc.in)
			if name != tc.want || branch != tc.branch || errors.Is(err, workspace.ErrBadName) != (tc.want == "") {
				t.Errorf("%q, %q, %v", name, branch, err)
			}
		})
	}
}

func FuzzSlug(f *testing.F) {
	for _, seed := range []string{"fix", "Fix Login", "..", "a.lock", "ö-", "İ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		slug, err := workspace.Slug(name)
		if err != nil {
			return
		}
		again, err := workspace.Slug(slug)
		if err != nil || again != slug {
			t.Fatalf("Slug(%q) = %q, and of that %q, %v", name, slug, again, err)
		}
	})
}

// Names that a workspace must not have, and what becomes of those that only
// look different.
func TestSlugHostile(t *testing.T) {
	for _, name := range []string{
		"..", "../x", "/", "/etc", `a\b`, "a\x00b", "\x00", ".git", ".", "-x", "--help", strings.Repeat("x", 300), "a..b",
		"fix.lock", "\u202egnp.exe", "a\nb", "\xff\xfe", " ", "\u0430\u0435", "~", "@", "@{-1}", "HEAD~1/x", "a\u200bb",
	} {
		if slug, err := workspace.Slug(name); err == nil && (strings.ContainsAny(slug, "/\\\x00:~^ @{") || slug[0] == '-' || slug[0] == '.') {
			t.Errorf("%q became %q", name, slug)
		} else if err != nil && (!errors.Is(err, workspace.ErrBadName) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: error %v", name, err)
		}
	}
	for _, twins := range [][2]string{{"Fix", "fix"}, {"ÉTÉ", "ete"}, {"fix it", "fix-it"}} {
		one, err1 := workspace.Slug(twins[0])
		two, err2 := workspace.Slug(twins[1])
		if err1 != nil || err2 != nil || one != two {
			t.Errorf("%q is %q, %v; %q is %q, %v", twins[0], one, err1, twins[1], two, err2)
		}
	}
}
