package model

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is in bytes. A branch's name becomes a file name, and gets a prefix
// and maybe a suffix.
const maxName = 100

// Slug turns a typed name into the name of a workspace: lower-case ASCII
// letters, digits, "-", "_" and ".". Letters lose their accents, other
// characters become "-". It refuses names that look like a path, an option or a
// file of git's, and empty ones, with ErrBadName. The slug of a slug is the
// same slug.
func Slug(name string) (string, error) {
	if err := checkTyped(name); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range name {
		b.WriteString(slugRune(r))
	}
	slug := b.String()
	for strings.Contains(slug, "--") {
		slug = strings.ReplaceAll(slug, "--", "-")
	}
	slug = strings.Trim(slug, "-._")
	switch {
	case slug == "":
		return "", fmt.Errorf("name %q: no ASCII letter or digit in it, which a branch and a directory get from it: add one: %w", name, ErrBadName)
	case strings.Contains(slug, ".."):
		return "", fmt.Errorf("name %q: contains %q: %w", name, "..", ErrBadName)
	case strings.HasSuffix(slug, ".lock"):
		return "", fmt.Errorf("name %q: ends in .lock, which git keeps for itself: %w", name, ErrBadName)
	case len(slug) > maxName:
		return "", fmt.Errorf("name %q...: longer than %d bytes: %w", slug[:20], maxName, ErrBadName)
	}
	return slug, nil
}

// Named returns the name of a workspace for a typed name, and the branch that
// the typed name asks for: feature/x is branch feature/x and workspace
// feature-x. The branch is "" for a name without a slash. That must not have
// the form of NAME@REPOSITORY; otherwise Slug judges it.
func Named(typed string) (name, branch string, err error) {
	if !strings.Contains(typed, "/") {
		if strings.Contains(typed, "@") {
			return "", "", fmt.Errorf("name %q: NAME@REPOSITORY means a workspace that there is; give a new one a NAME, and its repository with -C: %w",
				typed[:min(len(typed), maxName)], ErrBadName)
		}
		name, err = Slug(typed)
		return name, "", err
	}
	for part := range strings.SplitSeq(typed, "/") {
		if _, err := Slug(part); err != nil {
			return "", "", fmt.Errorf("%q: %w", typed[:min(len(typed), maxName)], err)
		}
	}
	if name, err = Slug(strings.ReplaceAll(typed, "/", "-")); err != nil {
		return "", "", err
	}
	return name, typed, nil
}

// Numbered returns the n-th name to try for a name that may be taken: name, then
// name-2, name-3 and so on, shortened if it would be too long.
func Numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	suffix := fmt.Sprintf("-%d", n)
	return strings.TrimRight(name[:min(len(name), maxName-len(suffix))], "-._") + suffix
}

// checkTyped refuses names for which no good slug can be guessed.
func checkTyped(name string) error {
	refuse := func(why string) error { return fmt.Errorf("name %q: %s: %w", name, why, ErrBadName) }
	if len(name) > maxName {
		return fmt.Errorf("name of %d bytes: longer than %d: %w", len(name), maxName, ErrBadName)
	}
	if name == "" {
		return refuse("empty")
	}
	if !utf8.ValidString(name) {
		return refuse("not UTF-8")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) }) {
		return refuse("contains a control character")
	}
	if strings.Contains(name, "/") {
		return refuse("contains a slash")
	}
	if strings.Contains(name, `\`) {
		return refuse("contains a backslash")
	}
	if strings.Contains(name, "..") {
		return refuse(`contains ".."`)
	}
	if name[0] == '-' || name[0] == '.' {
		return refuse("begins with " + name[:1])
	}
	return nil
}

// slugRune returns the replacement of r.
func slugRune(r rune) string {
	r = unicode.ToLower(r)
	switch {
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '.', r == '_':
		return string(r)
	case r < utf8.RuneSelf:
		return "-"
	}
	for _, fold := range folds {
		if strings.ContainsRune(fold.from, r) {
			return fold.to
		}
	}
	return "-"
}

// folds are the accented Latin letters. It has no letters of other scripts that
// look like Latin ones: names that differ only in script must not both exist.
var folds = []struct{ from, to string }{
	{"àáâãåāăą", "a"}, {"ä", "ae"}, {"æ", "ae"}, {"çćĉċč", "c"}, {"ďđð", "d"},
	{"èéêëēĕėęě", "e"}, {"ĝğġģ", "g"}, {"ĥħ", "h"}, {"ìíîïĩīĭįı", "i"}, {"ĵ", "j"},
	{"ķ", "k"}, {"ĺļľŀł", "l"}, {"ñńņň", "n"}, {"òóôõøōŏő", "o"}, {"ö", "oe"}, {"œ", "oe"},
	{"ŕŗř", "r"}, {"śŝşšș", "s"}, {"ß", "ss"}, {"ţťŧț", "t"}, {"þ", "th"},
	{"ùúûũūŭůűų", "u"}, {"ü", "ue"}, {"ŵ", "w"}, {"ýŷÿ", "y"}, {"źżž", "z"},
}
