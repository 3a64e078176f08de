package terminal

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestEnvironJSON(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   Environ
	}{
		{"none", nil},
		{"empty", Environ{}},
		{"an empty entry", Environ{""}},
		{"ordinary", Environ{"A=b", "PATH=/bin:/usr/bin"}},
		{"lines, no UTF-8, an exported function", Environ{"A=b\nc\n", "B=\xff\xfe\xc3", "BASH_FUNC_x%%=() {  :\n}", "C="}},
	} {
		data, err := json.Marshal(tt.in)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var got Environ
		if err := json.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, tt.in) {
			t.Errorf("%s: %q became %q, %v", tt.name, tt.in, got, err)
		}
	}
	if _, err := json.Marshal(Environ{"TOKEN=secret\x00"}); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "TOKEN") {
		t.Errorf("NUL: %v", err)
	}
	var old Environ // as builds wrote it that had a list
	if err := json.Unmarshal([]byte(` ["A=b","C=d"]`), &old); err != nil || !slices.Equal(old, Environ{"A=b", "C=d"}) {
		t.Errorf("of an earlier build: %q, %v", old, err)
	}
}

// FuzzEnviron: what is read is the same when it was written and read again.
func FuzzEnviron(f *testing.F) {
	for _, seed := range []string{`null`, `""`, `"QT1iAA=="`, `"QT1i"`, `["A=b"]`, `["\u0000"]`, `{}`, `"AAA="`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second Environ
		if json.Unmarshal(data, &first) != nil {
			return
		}
		written, err := json.Marshal(first)
		if err != nil {
			return // a list may hold NUL
		}
		if err := json.Unmarshal(written, &second); err != nil || !reflect.DeepEqual(first, second) {
			t.Fatalf("%q became %q, %v", first, second, err)
		}
	})
}
