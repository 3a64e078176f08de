package sessions

import (
	"encoding/json"
	"testing"

	"middleman/terminal"
)

// A request that is taken names a session and nothing else, and is the same once
// it was written and read again.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"session":"s0123456789abcdef","takeover":true}`))
	f.Add([]byte(`{"session":"../../x"}`))
	f.Add([]byte(`{"session":"s0123456789abcdef\u0000"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := parseRequest(raw)
		if err != nil {
			return
		}
		if err := terminal.CheckID(r.Session); err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseRequest(written); err != nil || again != r {
			t.Errorf("%+v became %+v, %v", r, again, err)
		}
	})
}

func TestRequestIsJudged(t *testing.T) {
	for _, raw := range []string{"", "{}", "[]", `{"session":""}`, `{"session":"fix/sh"}`, `{"session":"/run/x.sock"}`, `{"session":1}`} {
		if r, err := parseRequest([]byte(raw)); err == nil {
			t.Errorf("%q is taken as %+v", raw, r)
		}
	}
}
