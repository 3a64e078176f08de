package approve

import (
	"fmt"
	"strings"

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
