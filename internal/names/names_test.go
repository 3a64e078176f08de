package names

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

var some = []Workspace{
	{"w1", "fix", "/home/u/web"}, {"w2", "fix", "/home/u/work/api"}, {"w3", "fix", "/srv/api.git"},
	{"w4", "review", "/home/u/web"}, {"w5", "notes", ""}, {"w6", "notes", "/home/u/directory"}, {"w7", "fixed", "/api"},
}

func TestLabel(t *testing.T) {
	set := New(some)
	want := strings.Fields("fix@web fix@work/api fix@srv/api review notes@directory notes@u/directory fixed")
	for i, w := range some {
		if got := set.Label(w); got != want[i] {
			t.Errorf("%+v: %s, want %s", w, got, want[i])
		}
		if at, err := set.Find(set.Label(w), true); err != nil || at != i {
			t.Errorf("%+v: its label means %d, %v", w, at, err)
		}
	}
	if got := set.Repository("/api"); got != "/api" {
		t.Errorf("a path that others end in: %s", got)
	}
	if got := set.Label(Workspace{"w9", "review", "/home/u/other"}); got != "review@other" {
		t.Errorf("one that is not in the set: %s", got)
	}
	if got := (Set{}).Label(some[0]); got != "fix" {
		t.Errorf("in the empty set: %s", got)
	}
}

func TestFind(t *testing.T) {
	set := New(some)
	for _, tt := range []struct {
		text       string
		want, near string // the id, or the labels that the error names
		exact      string // likewise, if it differs
	}{
		{text: "w2", want: "w2"},
		{text: "review", want: "w4"},
		{text: "review@web", want: "w4"},
		{text: "review@u/web", want: "w4"},
		{text: "review@/home/u/web", want: "w4"},
		{text: "review@api", near: "review@web"},
		{text: "rev", want: "w4", exact: "review"},
		{text: "rev@w", want: "w4", exact: ""},
		{text: "fix", near: "fix@web fix@work/api fix@srv/api"},
		{text: "fix@api", near: "fix@work/api fix@srv/api"},
		{text: "fix@work/api", want: "w2"},
		{text: "fix@wo", want: "w2", exact: "fix@srv/api fix@web fix@work/api"},
		{text: "fix@w", near: "fix@web fix@work/api", exact: "fix@srv/api fix@web fix@work/api"},
		{text: "fix@srv/api", want: "w3"},
		{text: "fix@api.git", near: "fix@srv/api fix@web fix@work/api"},
		{text: "fixed@/api", want: "w7"},
		{text: "fixe", want: "w7", exact: "fixed fix@srv/api fix@web"},
		{text: "notes@directory", want: "w5"},
		{text: "notes@u/directory", want: "w6"},
		{text: "rveiew@web", near: "review"},
		{text: "fi", near: "fix@srv/api fix@web fix@work/api"},
		{text: ""}, {text: "@"}, {text: "@web"}, {text: "nothing"},
	} {
		check := func(exact bool, want, near string) {
			at, err := set.Find(tt.text, exact)
			var got []string
			if several, ok := errors.AsType[*AmbiguousError](err); ok {
				got = several.Labels
			} else if none, ok := errors.AsType[*NoneError](err); ok {
				got = none.Near
			}
			switch {
			case err == nil && some[at].ID != want, err != nil && want != "", err != nil && strings.Join(got, " ") != near:
				t.Errorf("%q, exact %v: %d, %v, want %q, or %q", tt.text, exact, at, err, want, near)
			}
		}
		check(false, tt.want, tt.near)
		switch {
		case strings.HasPrefix(tt.text, "rev@"):
			check(true, "", "")
		case tt.exact != "":
			check(true, "", tt.exact)
		default:
			check(true, tt.want, tt.near)
		}
	}
}

// Whatever the names and the text: no error guesses, and every label means its
// workspace and no other.
func FuzzFind(f *testing.F) {
	f.Add("fix", "/a/api", "/b/api", "fix@api")
	f.Add("fix", "", "/b/directory", "fix@")
	f.Add("x", "/a.git", "/a", "x@a")
	f.Add("x", "/a/b", "/b", "x@b")
	f.Fuzz(func(t *testing.T, name, one, two, text string) {
		if strings.Contains(name, "@") || name == "" || one == two {
			return // no name has an @, and no two repositories one path
		}
		list := []Workspace{{"w1", name, one}, {"w2", name, two}, {"w3", name + "x", one}}
		set := New(list)
		labels := []string{set.Label(list[0]), set.Label(list[1]), set.Label(list[2])}
		if labels[0] == labels[1] {
			t.Fatalf("one label for two: %q", labels)
		}
		for i, w := range list {
			if at, err := set.Find(labels[i], true); err == nil && at != i && list[at].ID != labels[i] {
				t.Errorf("the label %q of %+v means %+v", labels[i], w, list[at])
			}
		}
		if at, err := set.Find(text, true); err == nil && list[at].ID != text && !strings.HasPrefix(text, list[at].Name) {
			t.Errorf("%q means %+v", text, list[at])
		}
		if found := set.All(text, false); len(found) > 1 && slices.ContainsFunc(found, func(i int) bool { return list[i].Name != list[found[0]].Name }) {
			t.Errorf("%q means several names", text)
		}
	})
}

func TestNearest(t *testing.T) {
	names := []string{"fix-login", "fix-logout", "fix", "main", "review", "api"}
	for _, tt := range []struct{ typed, want string }{
		{"fix-", "fix-login fix-logout fix"},
		{"fix-lgoin", "fix-login"},
		{"fxi-login", "fix-login"},
		{"fix-logi", "fix-login"},
		{"Review", "review"},
		{"riview", "review"},
		{"reviews", "review"},
		{"fx", "fix"},
		{"apu", "api"},
		{"x", ""},
		{"", ""},
		{"a-p-i-", ""},
		{"nothing", ""},
		{strings.Repeat("fix-login", 1000), ""},
	} {
		if got := strings.Join(nearest(tt.typed, names, names), " "); got != tt.want {
			t.Errorf("%.40q: %q, want %q", tt.typed, got, tt.want)
		}
	}
}
