package main

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
)

// What go test says of three packages, one of which does not compile.
const output = `{"Action":"run","Package":"a","Test":"TestOne"}
{"Action":"output","Package":"a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"output","Package":"a","Test":"TestOne","Output":"    a_test.go:7: of one that passes\n"}
{"Action":"pass","Package":"a","Test":"TestOne"}
{"Action":"output","Package":"a","Test":"TestTwo","Output":"    a_test.go:9: check \"\": it is not an absolute path\n"}
{"Action":"output","Package":"a","Test":"TestTwo","Output":"--- SKIP: TestTwo (0.00s)\n"}
{"Action":"skip","Package":"a","Test":"TestTwo"}
{"Action":"output","Package":"a","Test":"TestThree","Output":"    a_test.go:9: only as the child of TestTwo:\n"}
{"Action":"output","Package":"a","Test":"TestThree","Output":"        usage: none\n"}
{"Action":"skip","Package":"a","Test":"TestThree"}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"output","Package":"a","Output":"ok  \ta\t0.1s\n"}
{"Action":"pass","Package":"a"}
{"Action":"output","Package":"b","Test":"TestFour/sub","Output":"    b_test.go:3: why\n"}
{"Action":"fail","Package":"b","Test":"TestFour/sub"}
{"Action":"output","Package":"b","Test":"TestHung","Output":"goroutine 7 [select]:\n"}
{"Action":"output","Package":"b","Test":"TestPassed","Output":"    b_test.go:5: of one that passes\n"}
{"Action":"pass","Package":"b","Test":"TestPassed"}
{"Action":"output","Package":"b","Output":"FAIL\n"}
{"Action":"fail","Package":"b"}
{"Action":"output","Package":"c","Output":"panic: of c\n"}
`

func TestReport(t *testing.T) {
	var out bytes.Buffer
	r := &report{w: &out, packages: make(map[string]*pack)}
	for line := range strings.Lines(output) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		r.take(e)
	}
	if want := "ok  \ta\t0.1s\n    b_test.go:3: why\ngoroutine 7 [select]:\nFAIL\n"; out.String() != want {
		t.Errorf("it prints %q, want %q", out.String(), want)
	}
	if want := []string{`a TestTwo: check "": it is not an absolute path`}; !slices.Equal(unexpected(r.skips), want) || len(r.skips) != 2 {
		t.Errorf("skips %q, of which %q are not expected", r.skips, unexpected(r.skips))
	}
	if r.packages["c"] == nil {
		t.Error("what a package said that has no end is lost")
	}
}

// A test that has parts is not told besides the part that took its time.
func TestSlowest(t *testing.T) {
	r := &report{w: io.Discard, packages: make(map[string]*pack)}
	for _, e := range []event{
		{Package: "a", Test: "TestOne/part", Action: "pass", Elapsed: 12},
		{Package: "a", Test: "TestOne", Action: "pass", Elapsed: 13},
		{Package: "a", Test: "TestOneMore", Action: "fail", Elapsed: 20},
		{Package: "b", Test: "TestOne", Action: "pass", Elapsed: 11},
		{Package: "b", Test: "TestQuick", Action: "pass", Elapsed: 9},
		{Package: "b", Action: "pass", Elapsed: 60},
	} {
		r.take(e)
	}
	var told []string
	for _, e := range r.slowest() {
		told = append(told, e.Package+" "+e.Test)
	}
	if want := []string{"a TestOneMore", "a TestOne/part", "b TestOne"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}
