package client

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/terminal"
)

// An id in an answer becomes a path: one that is none is not taken, wherever
// it stands.
func TestIDsOfAnAnswer(t *testing.T) {
	good := terminal.NewID("s")
	for _, tt := range []struct {
		name string
		out  any
		raw  string
		ok   bool
	}{
		{"session", new(api.Session), `{"id":"` + good + `"}`, true},
		{"no workspace", new(api.Session), `{"id":"` + good + `","workspace_id":""}`, true},
		{"path", new(api.Session), `{"id":"../../../etc"}`, false},
		{"path of a session's workspace", new(api.Session), `{"id":"` + good + `","workspace_id":"../x"}`, false},
		{"in a list", new(api.Sessions), `{"sessions":[{"id":"` + good + `"},{"id":"/x"}]}`, false},
		{"in a workspace", new(api.Created), `{"workspace":{"id":"` + good + `","sessions":[{"id":"x/y"}]}}`, false},
		{"by a pointer", new(api.Created), `{"session":{"id":"."}}`, false},
		{"worker", new(api.Workers), `{"workers":[{"id":"` + good + `","parent_session":"../s"}]}`, false},
		{"problem", new(api.Problem), `{"sessions":[{"id":".."}]}`, false},
	} {
		if err := Decode([]byte(tt.raw), tt.out); (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "is not an id") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// FuzzDecode: whatever is taken has no id that is none, also once it was
// written and read again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"workspaces":[{"id":"w0123456789abcdef","sessions":[{"id":"s0123456789abcdef"}]}],"sessions":[{"id":"../x"}]}`))
	f.Add([]byte(`{"sessions":null,"workspaces":[{}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var first, second api.Workspaces
		if Decode(raw, &first) != nil {
			return
		}
		for _, s := range first.Sessions {
			if s.ID != "" && terminal.CheckID(s.ID) != nil {
				t.Fatalf("took a session with id %q", s.ID)
			}
		}
		again, err := json.Marshal(first)
		if err != nil {
			t.Skip(err) // a time that JSON does not have
		}
		if err := Decode(again, &second); err != nil {
			t.Fatalf("it does not read what it wrote: %v", err)
		}
		if third, err := json.Marshal(second); err != nil || !reflect.DeepEqual(again, third) {
			t.Fatalf("%s became %s, %v", again, third, err)
		}
	})
}
