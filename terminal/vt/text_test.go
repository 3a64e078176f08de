package vt

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	const in = "1\r\n2\r\n0123456789ab \r\n\r\n012345678一 x"
	for _, c := range []struct {
		name string
		o    TextOptions
		want string
	}{
		{"screen", TextOptions{}, "0123456789\nab\n\n012345678\n一 x\n"},
		{"scrollback", TextOptions{Scrollback: true}, "1\n2\n0123456789\nab\n\n012345678\n一 x\n"},
		{"joined", TextOptions{JoinWraps: true}, "0123456789ab\n\n012345678一 x\n"},
		{"blanks", TextOptions{KeepBlanks: true}, "0123456789\nab        \n          \n012345678 \n一 x      \n"},
		{"all", TextOptions{Scrollback: true, KeepBlanks: true, JoinWraps: true}, "1         \n2         \n0123456789ab        \n          \n012345678一 x      \n"},
		{"rows", TextOptions{Top: 2, Bottom: 4}, "ab\n\n012345678\n"},
		{"rows that end blank", TextOptions{Top: 1, Bottom: 3}, "0123456789\nab\n"},
		{"rows from the top", TextOptions{Bottom: 1}, "0123456789\n"},
		{"rows to the bottom", TextOptions{Top: 5}, "一 x\n"},
		{"rows beyond the screen", TextOptions{Top: 5, Bottom: 99}, "一 x\n"},
		{"no rows", TextOptions{Top: 6, Bottom: 99}, ""},
	} {
		if got := fed(10, 5, in).Text(c.o); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := fed(10, 5, "a\r\n\r\n").Text(TextOptions{}); got != "a\n" {
		t.Errorf("blank lines at the end: %q", got)
	}
	if got := fed(10, 5, "").Text(TextOptions{}); got != "" {
		t.Errorf("an empty screen: %q", got)
	}
	if got := fed(10, 2, "0123456789\x1b[K ").Text(TextOptions{JoinWraps: true}); got != "0123456789\n" {
		t.Errorf("a wrapped blank line: %q", got)
	}
}

func TestCells(t *testing.T) {
	a := fed(10, 2, "\x1b]2;title\a\x1b[1;31ma\x1b[m一\x1b[4:3;58:2::1:2:3;48:5:9mb\x1b[m\x1b[?25l\x1b[3 q\x1b[?2004h\x1b[?1002h")
	got, err := json.Marshal(a.Cells())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"cols":10,"rows":2,"cursor":{"col":4,"row":0,"visible":false,"shape":"underline","blink":true},` +
		`"title":"title","alternate":false,"modes":["wrap","bracketed-paste","mouse-1002"],` +
		`"lines":[{"runs":[{"text":"a","cols":1,"style":{"fg":"1","bold":true}},{"text":"一","cols":2},` +
		`{"text":"b","cols":1,"style":{"bg":"9","underline_color":"#010203","underline":"curly"}}]},{"runs":[]}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A part of the screen is what stands there, in its styles.
func TestView(t *testing.T) {
	a := fed(10, 3, "ab一cd\x1b[41m  \x1b[m  \r\n\x1b[1m0123456789\r\n x")
	for _, c := range []struct {
		left, top, cols, rows int
		want                  []string
	}{
		{0, 0, 10, 3, []string{"ab一cd\x1b[0;41m  \x1b[0m", "\x1b[0;1m0123456789\x1b[0m", "\x1b[0;1m x\x1b[0m"}},
		{0, 0, 3, 2, []string{"ab", "\x1b[0;1m012\x1b[0m"}},  // without the left half of 一
		{3, 0, 3, 2, []string{" cd", "\x1b[0;1m345\x1b[0m"}}, // without its right half
		{2, 0, 2, 1, []string{"一"}},                          // all of it
		{8, 1, 9, 3, []string{"\x1b[0;1m89\x1b[0m", "", ""}}, // beyond the edges
		{20, 0, 5, 2, []string{"", ""}},                      // outside
		{0, -1, 4, 2, []string{"", "ab一"}},                   // above
		{6, 0, 1, 1, []string{"\x1b[0;41m \x1b[0m"}},         // a blank that shows
		{1, 2, 1, 1, []string{"\x1b[0;1mx\x1b[0m"}},          // the end of a row
	} {
		if got := a.View(c.left, c.top, c.cols, c.rows, nil); !slices.Equal(got, c.want) {
			t.Errorf("%d columns and %d rows from %d,%d: got %q, want %q", c.cols, c.rows, c.left, c.top, got, c.want)
		}
	}
}

// What a reader of a part refuses is replaced in its columns, and stays on the screen.
func TestViewOfRefused(t *testing.T) {
	a := fed(12, 2, "\x1b[31ma\u202eb\u0301\x1b[m一\u200d日c\r\n\x1b]8;;http://a\u202e\x1b\\\x1b[4;58:5:1ml\x1b]8;;http://a\x1b\\m")
	refuse := func(s string) bool { return !strings.ContainsAny(s, "\u202e\u200d") }
	whole := a.View(0, 0, 12, 2, nil)
	for _, c := range []struct {
		left, cols int
		want       []string
	}{
		{0, 12, []string{"\x1b[0;31ma\ufffdb\u0301\x1b[0m\ufffd 日c", "\x1b[0;4;58:5:1ml\x1b[0;4;58:5:1m\x1b]8;;http://a\x1b\\m\x1b[0m\x1b]8;;\x1b\\"}},
		{3, 2, []string{"\ufffd", ""}},
		{4, 3, []string{" 日", ""}},
	} {
		if got := a.View(c.left, 0, c.cols, 2, refuse); !slices.Equal(got, c.want) {
			t.Errorf("%d columns from %d: got %q, want %q", c.cols, c.left, got, c.want)
		}
	}
	if got := a.View(0, 0, 12, 2, nil); !slices.Equal(got, whole) || !strings.Contains(got[0], "\u202e") {
		t.Errorf("the screen is changed: %q, was %q", got, whole)
	}
}
