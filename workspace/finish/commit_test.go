package finish

import (
	"reflect"
	"strings"
	"testing"
)

const (
	someTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	plain    = "tree " + someTree + "\nparent " + someTree + "\nauthor A <a@x> 1 +0000\ncommitter C <c@x> 2 +0100\n"
)

// What no copy can keep is left out, and everything else stays as it was.
func TestParseCommit(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", plain + "\nmessage\n", plain + "\nmessage\n"},
		{"no message", plain + "\n", plain + "\n"},
		{"headers", plain + "encoding X\nchange-id y\n\n\n\nm\xff", plain + "encoding X\nchange-id y\n\n\n\nm\xff"},
		{"signature", plain + "gpgsig -----BEGIN\n more\n \n -----END\nencoding X\n\nm", plain + "encoding X\n\nm"},
		{"merged tag", plain + "mergetag object x\n type y\nextra a\n b\n\nm", plain + "extra a\n b\n\nm"},
	} {
		c, err := parseCommit(tt.in)
		if got := string(c.bytes()); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	for _, bad := range []string{"", "\n\n", "tree x\n\nm", strings.Replace(plain, someTree, "--all", 1) + "\nm", strings.TrimSuffix(plain, "\n"), "tree " + someTree + "\n\nm"} {
		if c, err := parseCommit(bad); err == nil {
			t.Errorf("%q: %+v", bad, c)
		}
	}
}

// FuzzParseCommit: whatever a repository holds, what was parsed and written
// parses to the same.
func FuzzParseCommit(f *testing.F) {
	f.Add(plain + "gpgsig a\n b\nencoding X\n\nmessage\n")
	f.Add(plain + "mergetag a\n b\n\n")
	f.Fuzz(func(t *testing.T, raw string) {
		c, err := parseCommit(raw)
		if err != nil {
			return
		}
		again, err := parseCommit(string(c.bytes()))
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("%q: %+v, then %+v, %v", raw, c, again, err)
		}
	})
}
