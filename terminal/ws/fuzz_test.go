package ws

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzDecode: what decodes, encodes to a message that decodes to the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"type":"resize","cols":80,"rows":24}`,
		`{"type":"resize","cols":80,"rows":24,"x_pixels":640,"y_pixels":480}`,
		`{"type":"resize","cols":-1,"rows":65536}`,
		`{"type":"ack","offset":18446744073709551615}`,
		`{"type":"ping"}`, `{"type":"later","x":[1]}`, `{}`, `[]`, `null`, `{`, "\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := decode(in)
		if err != nil {
			return
		}
		if m.Type == typeResize && (m.Cols == 0 || m.Rows == 0) {
			t.Fatalf("%q decodes to an empty size", in)
		}
		p, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(p)
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("%q decodes to %+v, %s to %+v, %v", in, m, p, again, err)
		}
	})
}

// FuzzDecodeServer: what a server sends is a message, an error, or skipped.
func FuzzDecodeServer(f *testing.F) {
	for _, seed := range []string{
		`{"type":"snapshot","offset":1}`, `{"type":"event","kind":"title","text":"x"}`, `{"type":"detached","reason":"takeover","writer":{"client":"x"}}`,
		`{"type":"exit","code":-1,"signal":9}`, `{"type":"error","code":"ended"}`, `{"type":"later"}`, `{"type":1}`, `null`, "\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		m, known, err := decodeServer(in)
		if known != (m.Kind != 0) || known && err != nil {
			t.Fatalf("%q: %+v, %v, %v", in, m, known, err)
		}
	})
}
