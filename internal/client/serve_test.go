package client

import (
	"encoding/json"
	"testing"
)

// FuzzServe: a serve.json leads to no other socket than ours, and says the same
// once it was written and read again.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"pid":1,"address":"127.0.0.1:8091","socket":"/tmp/theirs.sock","version":"v1"}`))
	f.Add([]byte(`{"pid":-1,"address":"\u001b]0;x\u0007"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		first, err := decodeServe(raw, "/ours.sock")
		if err != nil {
			return
		}
		if first.Socket != "/ours.sock" {
			t.Fatalf("socket %q", first.Socket)
		}
		_ = first.URL()
		written, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := decodeServe(written, "/ours.sock"); err != nil || second != first {
			t.Fatalf("%+v became %+v, %v", first, second, err)
		}
	})
}
