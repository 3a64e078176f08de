package approve

import "testing"

// Text shows letters that JSON escapes, and leaves escaped what does not show or would
// change what the JSON says.
func TestText(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"command":"echo \u65e5\u672c \ud83d\ude00 é"}`:       "{\n  \"command\": \"echo 日本 😀 é\"\n}",
		`{"a":"\u0022,\u0041\u001b\u202e\u200b"}`:              "{\n  \"a\": \"\\u0022,\\u0041\\u001b\\u202e\\u200b\"\n}",
		`{"a":"\\u65e5 \\\u65e5 \ud83d \ud83dx \udc00\ud83d"}`: "{\n  \"a\": \"\\\\u65e5 \\\\日 \\ud83d \\ud83dx \\udc00\\ud83d\"\n}",
		`{"a":"\u65`: `{"a":"\u65`,
		`{}`:         `{}`,
	} {
		if got := Text("", arguments); got != want {
			t.Errorf("%s is shown as %s, want %s", arguments, got, want)
		}
	}
	if got := Text("+x", `{}`); got != "+x" {
		t.Errorf("a diff is shown as %q", got)
	}
}
