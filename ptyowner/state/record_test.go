package state

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"
)

// FuzzRecord: what is taken for a record names a socket of that session, and
// is the same when it was written and read again.
func FuzzRecord(f *testing.F) {
	const id = "s0123456789abcdef"
	f.Add([]byte(`{"format":1,"socket":"/x/owner.sock","token":"t","argv":["/bin/sh"],"image":"1:2"}`))
	f.Add([]byte(`{"format":1,"socket":"/run/s0123456789abcdef.sock"}`))
	f.Add([]byte(`{"format":1,"socket":"/run/other.sock"}`))
	f.Add([]byte(`{"format":2,"socket":"owner.sock"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := Dir{ID: id, Path: "/state/" + id}
		r, err := d.parseRecord(data)
		if err != nil {
			return
		}
		if name := filepath.Base(r.Socket); !filepath.IsAbs(r.Socket) || name != "owner.sock" && name != id+".sock" {
			t.Fatalf("took the socket %q", r.Socket)
		}
		first, err := json.Marshal(r)
		if err != nil {
			t.Skip(err) // a time that JSON does not have
		}
		again, err := d.parseRecord(first)
		if err != nil {
			t.Fatalf("it does not read what it wrote: %v", err)
		}
		if second, err := json.Marshal(again); err != nil || string(first) != string(second) {
			t.Fatalf("%s became %s, %v", first, second, err)
		}
	})
}

// FuzzEnvironment: what is taken for names of variables is the same when it was
// written and read again.
func FuzzEnvironment(f *testing.F) {
	f.Add([]byte(`{"format":1,"variables":[{"name":"PATH","source":"caller"}]}`))
	f.Add([]byte(`{"format":2,"variables":[]}`))
	f.Add([]byte(`{"format":1,"variables":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := parseEnvironment(data)
		if err != nil {
			return
		}
		written, err := json.Marshal(environRecord{environFormat, first})
		if err != nil {
			t.Fatal(err)
		}
		second, err := parseEnvironment(written)
		if err != nil || len(first) != len(second) || len(first) > 0 && !reflect.DeepEqual(first, second) {
			t.Fatalf("%v became %v, %v", first, second, err)
		}
	})
}
