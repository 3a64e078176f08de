package app

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzStatusCache: what is taken of a statuses.json is said to be from there, and
// is the same once it was written and read again.
func FuzzStatusCache(f *testing.F) {
	f.Add([]byte(`{"w0123456789abcdef":{"status":{"as_of":"2026-01-02T03:04:05Z","source":"git","files":{"changed":1}},"mark":"x"}}`))
	f.Add([]byte(`{"w0123456789abcdef":{"none":true},"../../x":{"mark":"y"},"":{}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		first, err := decodeStatusCache(raw)
		if err != nil {
			return
		}
		for id, k := range first {
			if k.Status.Source != "disk" {
				t.Fatalf("took %q: %+v", id, k)
			}
			_ = k.upstream()
		}
		written, err := json.Marshal(first)
		if err != nil {
			t.Skip(err) // a time that JSON does not have
		}
		second, err := decodeStatusCache(written)
		if err != nil {
			t.Fatalf("it does not read what it wrote: %v", err)
		}
		if again, err := json.Marshal(second); err != nil || !reflect.DeepEqual(again, written) {
			t.Fatalf("%s became %s, %v", written, again, err)
		}
	})
}
