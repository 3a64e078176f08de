//go:build linux || darwin

package server_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/terminal"
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
		{"for=text&value=ready-&timeout=60s", 200, "ready-"},
		{"for=regex&value=ready-%5B0-9%5D%2B&timeout=60s", 200, "ready-7"},
		{"for=regex&value=%5Eready-7%24&timeout=60s", 200, "ready-7"},
		{"for=text&value=ready-&scrollback=1&timeout=60s", 200, "ready-"},
		{"for=quiet&value=50ms&timeout=60s", 200, ""},
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
	go func() { answers <- wait("for=text&value=got+it&timeout=60s") }()
	r.call("POST", path+"/input", []byte("it\n"))
	if a := <-answers; a.status != 200 {
		t.Errorf("text to come: %d %s", a.status, a.body)
	}
	go func() { answers <- wait("for=text&value=never&timeout=60s") }()
	r.call("POST", path+"/input", []byte("\n"))
	if a := <-answers; a.status != 409 || a.problem(t).Code != api.CodeEnded {
		t.Errorf("text that never came: %d %s", a.status, a.body)
	}
	got := get[api.Waited](r, "GET", path+"/wait?for=exit", nil)
	if got.Session.Exit == nil || got.Session.Exit.Code != 3 {
		t.Errorf("exit: %+v", got)
	}
}

// Text counts from an offset on, and is typed only at the screen that was seen.
func TestInputThatExpects(t *testing.T) {
	r := newPlace(t).serve(t)
	s := r.session(r.workspace("careful", nil), "sh", "-c", `stty -echo; echo ready; read line; echo "got $line"; read line`)
	path := "/sessions/" + s.ID
	get[api.Waited](r, "GET", path+"/wait?for=text&value=ready&timeout=60s", nil)
	var a answer
	r.until("the whole line", func() bool { // its end may come a moment after its text
		a = r.call("GET", path+"/capture?rows=1-2", nil)
		return a.header.Get("Middleman-Offset") == "7"
	})
	hash, offset := a.header.Get("Middleman-Hash"), a.header.Get("Middleman-Offset")
	if a.status != 200 || string(a.body) != "ready\n" || len(hash) != 2*terminal.HashBytes || offset != "7" {
		t.Fatalf("capture: %d %s %v", a.status, a.body, a.header)
	}
	var shot struct {
		Offset uint64
		Hash   string
	}
	if a := r.call("GET", path+"/capture?format=json", nil); json.Unmarshal(a.body, &shot) != nil || shot.Offset != 7 || shot.Hash != hash {
		t.Errorf("capture as JSON: %s", a.body)
	}
	for _, x := range []struct {
		query  string
		status int
		code   string
	}{
		{"expect=" + strings.Repeat("0", 32), 409, api.CodeChanged},
		{"expect=6", 409, api.CodeChanged},
		{"expect=" + hash + "&expect_rows=2-3", 409, api.CodeChanged},
		{"if_idle=2h", 409, api.CodeChanged},
		{"expect=soon", 422, api.CodeBadRequest},
		{"expect=", 422, api.CodeBadRequest},
		{"expect=&if_idle=1ms", 422, api.CodeBadRequest},
		{"expect=" + hash + "&expect_rows=", 422, api.CodeBadRequest},
		{"expect_rows=1-2", 422, api.CodeBadRequest},
		{"expect=" + hash + "&expect_rows=2-1", 422, api.CodeBadRequest},
		{"expect=7&expect_rows=1-2", 422, api.CodeBadRequest},
		{"if_idle=-1s", 422, api.CodeBadRequest},
	} {
		if a := r.call("POST", path+"/input?"+x.query, []byte("refused\n")); a.status != x.status || a.problem(t).Code != x.code {
			t.Errorf("%s: %d %s, want %d %s", x.query, a.status, a.body, x.status, x.code)
		}
	}
	if a := r.call("POST", path+"/input?expect=7", bytes.Repeat([]byte("x"), terminal.MaxExpected+1)); a.status != 413 {
		t.Errorf("too much: %d %s", a.status, a.body)
	}
	for _, query := range []string{"rows=0-1", "rows=1-2&scrollback=1"} {
		if a := r.call("GET", path+"/capture?"+query, nil); a.status != 422 {
			t.Errorf("capture of %s: %d %s", query, a.status, a.body)
		}
	}
	a = r.call("POST", path+"/input?expect="+hash+"&expect_rows=1-2&if_idle=1ms", []byte("it\n"))
	if a.status != 204 || a.header.Get("Middleman-Offset") != "7" {
		t.Fatalf("input: %d %s %v", a.status, a.body, a.header)
	}
	if got := get[api.Waited](r, "GET", path+"/wait?for=regex&value=%5Egot+it%24&from=7&timeout=60s", nil); got.Match != "got it" {
		t.Errorf("wait from the offset: %+v", got)
	}
	for query, status := range map[string]int{
		"for=text&value=ready&from=7&timeout=50ms": 504, "for=text&value=got&from=now&timeout=50ms": 504,
		"for=text&value=got&from=99999": 416, "for=text&value=got&from=soon": 422,
		"for=exit&from=7": 422, "for=text&value=got&from=7&scrollback=1": 422,
	} {
		if a := r.call("GET", path+"/wait?"+query, nil); a.status != status {
			t.Errorf("wait with %s: %d %s, want %d", query, a.status, a.body, status)
		}
	}
}

func TestOutputByOffset(t *testing.T) {
	r := newPlace(t).serve(t)
	s := r.session(r.workspace("bytes", nil), "printf", "0123456789")
	path := "/sessions/" + s.ID
	get[api.Waited](r, "GET", path+"/wait?for=exit&timeout=60s", nil)
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
