package await

import "testing"

func TestQueryMatch(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		in         Query
		want       bool
	}{
		{"text", "a.b", Query{Text: "."}, true},
		{"text is no expression", "ab", Query{Text: "."}, false},
		{"case counts", "One", Query{Text: "one"}, false},
		{"case ignored", "One", Query{Text: "one", IgnoreCase: true}, true},
		{"part of a word", "stone", Query{Text: "one", Word: true}, false},
		{"part of a word of another script", "größe", Query{Text: "gr", Word: true}, false},
		{"word at the end", "no one", Query{Text: "one", Word: true}, true},
		{"word within brackets", "(one)", Query{Text: "one", Word: true}, true},
		{"alternatives are words too", "stone", Query{Text: "one|two", Regex: true, Word: true}, false},
		{"expression", "n12", Query{Text: `^n\d+$`, Regex: true}, true},
		{"expression, case ignored", "N12", Query{Text: `^n\d+$`, Regex: true, IgnoreCase: true}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			match, err := tc.in.Match()
			if err != nil {
				t.Fatal(err)
			}
			if got := match([]byte(tc.line)); got != tc.want {
				t.Errorf("%+v on %q: got %v", tc.in, tc.line, got)
			}
		})
	}
	for _, bad := range []Query{{}, {Text: "(", Regex: true}} {
		if _, err := bad.Match(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
