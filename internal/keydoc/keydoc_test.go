package keydoc

import (
	"errors"
	"slices"
	"testing"
)

type size int

func (size) Kind() string { return "size" }

func (s size) MarshalText() ([]byte, error) {
	if s < 0 {
		return nil, errors.New("negative")
	}
	return []byte("big"), nil
}

func TestOf(t *testing.T) {
	type profile struct {
		Command []string `toml:"command"`
	}
	v := struct {
		Name  string `toml:"name"`
		Table struct {
			Size  size `toml:"size"`
			On    bool `toml:"on"`
			Count *int `toml:"count"`
		} `toml:"table"`
		Env      map[string]string  `toml:"env"`
		Profiles map[string]profile `toml:"profiles"`
	}{Name: `a\b`}
	var got []string
	for _, k := range Of(v, []Text{{Key: "name", Values: []string{"a", "b", "c"}}, {Key: "table.on", About: "On."}, {Key: "other"}}) {
		got = append(got, k.Key+" = "+k.Takes()+"; "+k.About)
	}
	want := []string{
		`name = "a", "b" or "c"; `, "table.size = size; ", "table.on = true or false; On.", "table.count = number; ",
		"env.NAME = string; ", "profiles.NAME.command = list of strings; ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTOML(t *testing.T) {
	for _, tt := range []struct {
		in   any
		want string
	}{
		{"", `""`}, {"a", `"a"`}, {`ctrl-\`, `'ctrl-\'`}, {`'\`, `"'\\"`}, {"a\nb", `"a\nb"`}, {true, "true"}, {7, "7"},
		{[]string(nil), "[]"}, {[]string{"a", `\`}, `["a", '\']`}, {size(1), `"big"`}, {size(-1), "negative"},
	} {
		if got := TOML(tt.in); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.in, got, tt.want)
		}
	}
}
