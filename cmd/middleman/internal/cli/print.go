package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"middleman/internal/api"
	"middleman/internal/plaintext"
)

// Print prints a command's result. With --json it calls PrintJSON; else it
// calls text, which prints to c.Out.
func (c *CLI) Print(result any, text func() error) error {
	if c.JSON {
		return c.PrintJSON(result)
	}
	return text()
}

// PrintJSON prints one JSON object to standard output: the schema version, then
// the fields of result, which is a struct or a map.
func (c *CLI) PrintJSON(result any) error {
	var fields, object bytes.Buffer
	enc := json.NewEncoder(&fields)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(result); err != nil {
		return err
	}
	all := fmt.Appendf(nil, `{"schema":%d`, api.SchemaVersion)
	if rest := fields.Bytes()[1:]; rest[0] == '}' {
		all = append(all, rest...)
	} else {
		all = append(append(all, ','), rest...)
	}
	if err := json.Indent(&object, all, "", "  "); err != nil {
		return err
	}
	out := plaintext.NewJSONWriter(c.BytesOut)
	_, err := out.Write(object.Bytes())
	return errors.Join(err, out.Flush())
}

// Table prints rows with aligned columns when it is flushed.
type Table struct{ w *tabwriter.Writer }

// Table starts a table on c.Out, with a heading line if head is not empty.
func (c *CLI) Table(head ...string) Table {
	t := Table{tabwriter.NewWriter(c.Out, 0, 8, 2, ' ', 0)}
	if len(head) > 0 {
		t.Row(head...)
	}
	return t
}

// Row adds a row. It spells out line feeds and tabs in cells.
func (t Table) Row(cells ...string) {
	for i, cell := range cells {
		cells[i] = plaintext.Line(cell)
	}
	fmt.Fprintln(t.w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
}

// Flush prints the rows.
func (t Table) Flush() error { return t.w.Flush() }

// Dash returns s, or "-" if s is empty.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Age returns the time since t in its largest unit, such as 5m; "-" for no
// time.
func Age(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := time.Since(t)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// NotNil returns list, or an empty list for nil, which JSON would print as
// null.
func NotNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Short returns the first 12 digits of a commit's hash.
func Short(commit string) string { return commit[:min(len(commit), 12)] }
