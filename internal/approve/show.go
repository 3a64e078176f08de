package approve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"middleman/internal/plaintext"
)

// maxSummary bounds the characters of a summary.
const maxSummary = 200

// Summary returns one line that says what r asks for, such as "Bash: make test".
func Summary(r Request) string {
	values, err := object([]byte(r.Arguments))
	if err != nil {
		return r.Tool
	}
	a := arguments{values: values, used: map[string]bool{}}
	for _, name := range []string{"command", "file_path", "notebook_path", "path", "url", "query", "pattern", "description"} {
		blank := func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' } // others are spelled out
		text := strings.Join(strings.FieldsFunc(a.optional(name), blank), " ")
		if text == "" {
			continue
		}
		line := []rune(plaintext.Line(r.Tool + ": " + text))
		if len(line) > maxSummary {
			line = append(line[:maxSummary-1], '…')
		}
		return string(line)
	}
	return r.Tool
}

// Text returns what a person reads of a request: its diff or, without one, its
// arguments, indented if they are JSON. Letters that the JSON escapes are written as they
// are; what does not show stays escaped.
func Text(diff, arguments string) string {
	if diff != "" {
		return diff
	}
	var out bytes.Buffer
	if json.Indent(&out, []byte(arguments), "", "  ") != nil { // of what a rule decided it is only the beginning
		return arguments
	}
	return unescaped(out.String())
}

// unescaped returns JSON with the letters that it need not escape.
func unescaped(text string) string {
	var out strings.Builder
	for len(text) > 1 {
		r, n := utf8.RuneError, 2
		switch {
		case text[0] != '\\':
			n = 1
		case text[1] == 'u':
			r, n = escapedRune(text)
		}
		if r > unicode.MaxASCII && r != utf8.RuneError && unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			out.WriteString(text[:n])
		}
		text = text[n:]
	}
	return out.String() + text
}

// escapedRune decodes the \u with which text begins, and its second half.
func escapedRune(text string) (r rune, n int) {
	unit := func(text string) (rune, bool) {
		if len(text) < 6 || text[:2] != `\u` {
			return 0, false
		}
		v, err := strconv.ParseUint(text[2:6], 16, 32)
		return rune(v), err == nil
	}
	r, ok := unit(text)
	switch low, paired := unit(text[min(6, len(text)):]); {
	case !ok:
		return utf8.RuneError, 2
	case utf16.IsSurrogate(r) && paired:
		return utf16.DecodeRune(r, low), 12
	case utf16.IsSurrogate(r):
		return utf8.RuneError, 6
	}
	return r, 6
}

// edit is what a tool changes in one place of a file.
type edit struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

// Diff returns what r would change in a file, as lines with + and -. It is "" if r
// is no edit, or if the lines would not say all of its arguments: who decides must
// see each of them. It reads no file: an edit outside of the worktree must not copy
// what is there.
func Diff(r Request) string {
	values, err := object([]byte(r.Arguments))
	if err != nil {
		return ""
	}
	a := arguments{values: values, used: map[string]bool{}}
	var path string
	var edits []edit
	switch r.Tool {
	case "apply_patch":
		patch := a.text("command")
		if a.problem() != nil {
			return ""
		}
		return patch
	case "Write":
		path, edits = a.text("file_path"), []edit{{New: a.text("content")}}
	case "create":
		path, edits = a.text("path"), []edit{{New: a.text("file_text")}}
	case "Edit":
		path, edits = a.text("file_path"), []edit{{a.text("old_string"), a.text("new_string"), a.truth("replace_all")}}
	case "MultiEdit":
		path = a.text("file_path")
		a.decode("edits", &edits)
	case "edit", "str_replace":
		path, edits = a.text("path"), []edit{{Old: a.text("old_str"), New: a.text("new_str")}}
	}
	if a.problem() != nil || len(edits) == 0 {
		return ""
	}
	var out strings.Builder
	path = plaintext.Line(path)
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", path, path)
	for _, e := range edits {
		if e.All {
			out.WriteString("@@ every occurrence @@\n")
		}
		marked(&out, "-", e.Old)
		marked(&out, "+", e.New)
	}
	return out.String()
}

// marked writes each line of text with a mark before it.
func marked(out *strings.Builder, mark, text string) {
	for line := range strings.Lines(text) {
		out.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
}
