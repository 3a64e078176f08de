package config

import (
	"slices"
	"testing"
)

func TestChanged(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		want       []string
	}{
		{"nothing", "", "", nil},
		{"the default, written down", "", "backend = \"auto\"\nhosts = []\n[ports]\nfirst = 20000\n", nil},
		{"one", "", "listen = \"127.0.0.1:1\"\n", []string{"listen"}},
		{"several", "hosts = [\"a\"]\n[terminal]\ngrace = \"1s\"\n", "hosts = [\"b\"]\n[transcripts]\nkeep = \"none\"\n[env]\ndeny = [\"X\"]\n",
			[]string{"hosts", "terminal.grace", "env.deny", "transcripts.keep"}},
	} {
		a, b := Default(), Default()
		if err := a.parse([]byte(tt.a)); err != nil {
			t.Fatal(err)
		}
		if err := b.parse([]byte(tt.b)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range Changed(a, b) {
			got = append(got, k.Key)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
