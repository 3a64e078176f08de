package private

import "testing"

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"/a/b-c_1.d": "/a/b-c_1.d", "/a b": "'/a b'", "/it's": `'/it'\''s'`} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}
