package approve

import (
	"encoding/json"
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
		text := strings.Join(strings.Fields(a.optional(name)), " ")
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

// Diff returns what r would change in a file, as lines with + and -, or "" if it
// is no edit. It reads no file: an edit outside of the worktree must not copy what
// is there.
func Diff(r Request) string {
	values, err := object([]byte(r.Arguments))
	if err != nil {
		return ""
	}
	a := arguments{values: values, used: map[string]bool{}}
	var out strings.Builder
	change := func(old, new string) {
		marked(&out, "-", old)
		marked(&out, "+", new)
	}
	if r.Tool == "apply_patch" {
		return a.optional("command")
	}
	path := a.optional("file_path") + a.optional("notebook_path") + a.optional("path")
	change(a.optional("old_string")+a.optional("old_str"), a.optional("new_string")+a.optional("new_str"))
	change("", a.optional("content")+a.optional("file_text")+a.optional("new_source"))
	if string(values["replace_all"]) == "true" {
		out.WriteString("@@ every occurrence @@\n")
	}
	var edits []struct {
		Old string `json:"old_string"`
		New string `json:"new_string"`
	}
	if raw := values["edits"]; raw != nil && json.Unmarshal(raw, &edits) == nil {
		for _, e := range edits {
			change(e.Old, e.New)
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("--- %s\n+++ %s\n%s", path, path, out.String())
}

// marked writes each line of text with a mark before it.
func marked(out *strings.Builder, mark, text string) {
	for line := range strings.Lines(text) {
		out.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
}
