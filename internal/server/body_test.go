package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// Many callers together get maxBodies, one of them maxBodiesEach; the Unix socket has
// as much of its own; what is given back can be taken again.
func TestBodiesAreShared(t *testing.T) {
	var b bodies
	var held []*heldBody
	take := func(subject string, n int64, want bool) {
		t.Helper()
		h, ok := b.take(subject, n)
		if ok != want {
			t.Fatalf("%s takes %d of %d bytes: %v", subject, n, b.all, ok)
		}
		if ok {
			held = append(held, h)
		}
	}
	for i := range maxBodies / maxBodiesEach {
		subject := fmt.Sprint("token ", i)
		take(subject, maxBodiesEach-1, true)
		take(subject, 2, false)
		take(subject, 1, true)
	}
	take("another", 1, false)
	take(socketSubject, maxBodies, true)
	take(socketSubject, 1, false)
	take("another", 1, false)

	held[0].shrink(maxBodiesEach - 3) // two bytes are free
	held[0].shrink(maxBodiesEach)     // a body does not grow
	take("another", 3, false)
	take("another", 2, true)
	take("token 0", 1, false)
	for _, h := range held {
		h.release()
		h.release() // gives back nothing more
	}
	if b.all != 0 || len(b.of) != 0 {
		t.Errorf("%d bytes, %v are left", b.all, b.of)
	}
}

func TestNamesOnce(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, `[]`: true, `"a"`: true, `1`: true, ``: true, `{"a":1,"A":2}`: true, `{"a":{"a":{"a":[{"a":"a"},{"a":"a"}]}}}`: true,
		`{"a":["b","b","a"],"b":"a"}`: true, `{"a":"b","b":"b"}`: true, `not JSON`: true,
		`{"a":1,"a":1}`: false, `{"a":1,"\u0061":1}`: false, `[{"b":{"a":[],"b":{},"a":null}}]`: false, `{"a":{},"b":[[{"c":1,"c":2}]]}`: false,
	} {
		if err := namesOnce([]byte(text)); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What passes is decoded by a decoder that refuses duplicates to the same value.
func FuzzNamesOnce(f *testing.F) {
	for _, text := range []string{`{"a":1,"a":2}`, `[{"a":[{"b":"c"}]},"a"]`, `{"a":{"b":1},"a":{"c":1}}`, `{"":"","":""}`, `{"a":1}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var value any
		if json.Unmarshal(text, &value) != nil || namesOnce(text) != nil {
			return
		}
		again, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if count(text) != count(again) { // a name that is there twice leaves one member
			t.Errorf("%q passes, and is decoded to %q", text, again)
		}
	})
}

// count returns how many tokens a JSON text has.
func count(text []byte) (n int) {
	for d := json.NewDecoder(bytes.NewReader(text)); ; n++ {
		if _, err := d.Token(); err != nil {
			return n
		}
	}
}
