package store

import (
	"encoding/json"
	"testing"
	"time"

	"middleman/terminal"
)

// FuzzTombstone: what is read is written as it was.
func FuzzTombstone(f *testing.F) {
	const id = "s0123456789abcdef"
	data, err := json.Marshal(Tombstone{Version: tombstoneVersion, ID: id, State: terminal.StateExited, Started: time.Unix(1, 0).UTC(),
		Exit: &terminal.Exit{Code: 1}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`null`))
	f.Add([]byte(`{"version":1,"id":"` + id + `","state":"unreachable"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := decodeTombstone(data, id)
		if err != nil {
			return
		}
		if x.ID != id || x.Depth < 0 {
			t.Errorf("%+v", x)
		}
		once, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeTombstone(once, id)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := json.Marshal(again); err != nil || string(once) != string(twice) {
			t.Errorf("%v: %s\n%s", err, once, twice)
		}
	})
}
