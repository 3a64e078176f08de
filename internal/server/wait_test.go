//go:build linux || darwin

package server_test

import (
	"strings"
	"testing"

	"middleman/internal/api"
)

func TestWait(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("patient", nil)
	s := r.session(w, "sh", "-c", `echo ready-7; read line; echo "got $line"; read line; exit 3`)
	path := "/sessions/" + s.ID
	wait := func(query string) answer { return r.call("GET", path+"/wait?"+query, nil) }
	for _, x := range []struct {
		query  string
		status int
		match  string
	}{
		{"for=text&value=ready-&timeout=20s", 200, "ready-"},
		{"for=regex&value=ready-%5B0-9%5D%2B&timeout=20s", 200, "ready-7"},
		{"for=regex&value=%5Eready-7%24&timeout=20s", 200, "ready-7"},
		{"for=text&value=ready-&scrollback=1&timeout=20s", 200, "ready-"},
		{"for=quiet&value=50ms&timeout=20s", 200, ""},
		{"for=text&value=nowhere&timeout=50ms", 504, ""},
		{"for=exit&timeout=50ms", 504, ""},
		{"for=regex&value=%5B", 422, ""},
		{"for=text", 422, ""},
		{"for=miracle", 422, ""},
		{"for=exit&scrollback=1", 422, ""},
		{"for=exit&timeout=soon", 422, ""},
	} {
		a := wait(x.query)
		if a.status != x.status || !strings.Contains(string(a.body), x.match) {
			t.Errorf("%s: %d %s", x.query, a.status, a.body)
		}
		if a.status == 504 && a.problem(t).Code != api.CodeTimeout {
			t.Errorf("%s: %s", x.query, a.body)
		}
	}
	answers := make(chan answer, 1)
	go func() { answers <- wait("for=text&value=got+it&timeout=20s") }()
	r.call("POST", path+"/input", []byte("it\n"))
	if a := <-answers; a.status != 200 {
		t.Errorf("text to come: %d %s", a.status, a.body)
	}
	go func() { answers <- wait("for=text&value=never&timeout=20s") }()
	r.call("POST", path+"/input", []byte("\n"))
	if a := <-answers; a.status != 409 || a.problem(t).Code != api.CodeEnded {
		t.Errorf("text that never came: %d %s", a.status, a.body)
	}
	got := get[api.Waited](r, "GET", path+"/wait?for=exit", nil)
	if got.Session.Exit == nil || got.Session.Exit.Code != 3 {
		t.Errorf("exit: %+v", got)
	}
}

func TestOutputByOffset(t *testing.T) {
	r := newPlace(t).serve(t)
	s := r.session(r.workspace("bytes", nil), "printf", "0123456789")
	path := "/sessions/" + s.ID
	get[api.Waited](r, "GET", path+"/wait?for=exit&timeout=20s", nil)
	for _, x := range []struct {
		query  string
		status int
		want   string
	}{{"", 200, "0123456789"}, {"?from=4", 200, "456789"}, {"?from=10", 200, ""}, {"?from=11", 416, ""}, {"?from=-1", 422, ""}} {
		a := r.call("GET", path+"/output"+x.query, nil)
		if a.status != x.status || (x.status == 200 && string(a.body) != x.want) {
			t.Errorf("output%s: %d %q", x.query, a.status, a.body)
		}
	}
	for format, want := range map[string]string{"text": "0123456789", "ansi": "0123456789", "json": `{`} {
		a := r.call("GET", path+"/capture?format="+format, nil)
		if a.status != 200 || !strings.Contains(string(a.body), want) || a.header.Get("Middleman-Offset") != "10" {
			t.Errorf("%s: %d %s", format, a.status, a.body)
		}
	}
	for at, x := range map[string]struct {
		status int
		want   string
	}{"4": {200, "0123\n"}, "0s": {200, "0123456789\n"}, "1h": {200, ""}, "11": {416, ""}, "soon": {422, ""}} {
		a := r.call("GET", path+"/capture?at="+at, nil)
		if a.status != x.status || a.status == 200 && (string(a.body) != x.want || a.header.Get("Middleman-Note") != "") {
			t.Errorf("capture at %s: %d %s", at, a.status, a.body)
		}
	}
	a := r.call("GET", path+"/recording", nil)
	if a.status != 200 || a.header.Get("Content-Type") != "application/x-asciicast" ||
		!strings.HasPrefix(string(a.body), `{"version":2,"width":80,"height":24,`) || !strings.HasSuffix(string(a.body), `"0123456789"]`+"\n") {
		t.Errorf("recording: %d %v %s", a.status, a.header, a.body)
	}
	if a := r.call("POST", path+"/input", []byte("x")); a.status != 409 || a.problem(t).Code != api.CodeEnded {
		t.Errorf("typing at an ended session: %d %s", a.status, a.body)
	}
}
