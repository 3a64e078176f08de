package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"middleman/cmd/middleman/internal/viewer"
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
func (c *CLI) PrintJSON(result any) error { return c.printObject(result, json.Indent) }

// PrintJSONLine is PrintJSON on one line, for a command that prints several.
func (c *CLI) PrintJSONLine(result any) error {
	return c.printObject(result, func(to *bytes.Buffer, object []byte, _, _ string) error {
		_, err := to.Write(object)
		return err
	})
}

func (c *CLI) printObject(result any, format func(to *bytes.Buffer, object []byte, prefix, indent string) error) error {
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
	if err := format(&object, all, "", "  "); err != nil {
		return err
	}
	out := plaintext.NewJSONWriter(c.BytesOut)
	_, err := out.Write(object.Bytes())
	return errors.Join(err, out.Flush())
}

// Warn prints warnings to standard error, each in a line.
func (c *CLI) Warn(warnings ...string) {
	for _, warning := range warnings {
		fmt.Fprintln(c.Errs, "middleman:", plaintext.Line(warning))
	}
}

// Table prints rows with aligned columns when it is flushed.
type Table struct {
	out  io.Writer
	rows [][]string
	// cols is how many columns a line may have, 0 for any number, and last how
	// many are left to the last cell, or WholeLast.
	cols, last int
	spare      []string // headings of columns that are left out before cells are cut
}

// WholeLast as the argument of FitTable leaves the last column out where it does not
// fit whole.
const WholeLast = -1

// Table starts a table on c.Out, with a heading line if head is not empty.
func (c *CLI) Table(head ...string) *Table {
	t := &Table{out: c.Out}
	if len(head) > 0 {
		t.Row(head...)
	}
	return t
}

// FitTable is Table for one whose lines fit a terminal, if standard output is one.
// First the last cell gives way, until it has as many columns as last says, then
// the widest. An ellipsis ends what is cut.
func (c *CLI) FitTable(last int, head ...string) *Table {
	t := c.Table(head...)
	t.cols, t.last = int(viewer.Size(c.BytesOut).Cols), last
	return t
}

// Spare names columns, by their headings, that are left out one after the other where a
// line does not fit otherwise.
func (t *Table) Spare(heads ...string) { t.spare = heads }

// leaveOut removes the column with that heading.
func (t *Table) leaveOut(head string) {
	at := slices.Index(t.rows[0], head)
	if at < 0 {
		return
	}
	for i, row := range t.rows {
		if at < len(row) {
			t.rows[i] = slices.Delete(row, at, at+1)
		}
	}
}

// Fits reports whether t fits its lines to a terminal.
func (t *Table) Fits() bool { return t.cols > 0 }

// Row adds a row. It spells out line feeds and tabs in cells.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = plaintext.Line(cell)
	}
	for len(row) > 0 && row[len(row)-1] == "" {
		row = row[:len(row)-1]
	}
	t.rows = append(t.rows, row)
}

const (
	gap     = 2 // columns between two cells
	minCell = 6 // columns that each cell keeps
)

// Flush prints the rows.
func (t *Table) Flush() error {
	widths := t.widths()
	var all strings.Builder // one write, and not one a row
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			if i == len(row)-1 {
				line.WriteString(cell)
				break
			}
			line.WriteString(viewer.Pad(viewer.FitCell(cell, widths[i]), widths[i]+gap))
		}
		text := line.String()
		if t.cols > 0 {
			text = viewer.Fit(text, t.cols)
		}
		all.WriteString(text + "\n")
	}
	t.rows = nil
	_, err := io.WriteString(t.out, all.String())
	return err
}

// widths returns the width of each cell but the last of a row, which needs none. It
// leaves the last column out, if that must be whole and does not fit.
func (t *Table) widths() []int {
	widths, whole := t.measure()
	if t.cols == 0 {
		return widths
	}
	if t.last == WholeLast && t.over(whole) > 0 {
		for i, row := range t.rows {
			t.rows[i] = row[:min(len(row), len(whole)-1)]
		}
		widths, whole = t.measure()
	}
	for _, head := range t.spare {
		if t.over(whole) <= max(0, whole[len(whole)-1]-t.last) {
			break
		}
		t.leaveOut(head)
		widths, whole = t.measure()
	}
	t.narrow(whole)
	for i := range widths {
		widths[i] = min(widths[i], whole[i])
	}
	return widths
}

// measure returns the width that each column needs: for its cells that are not the
// last of their row, and for all.
func (t *Table) measure() (widths, whole []int) {
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths, whole = append(widths, 0), append(whole, 0)
			}
			width := uniseg.StringWidth(cell)
			if whole[i] = max(whole[i], width); i < len(row)-1 {
				widths[i] = max(widths[i], width)
			}
		}
	}
	return widths, whole
}

// over returns by how much columns of these widths exceed t.cols.
func (t *Table) over(widths []int) int {
	over := gap*(len(widths)-1) - t.cols
	for _, width := range widths {
		over += width
	}
	return over
}

// narrow makes widths fit t.cols, as far as minCell allows. The widest column gives way,
// but the first, which names the row, only to one half as wide.
func (t *Table) narrow(widths []int) {
	over := t.over(widths)
	end := len(widths) - 1
	if cut := min(over, widths[end]-t.last); t.last != WholeLast && cut > 0 {
		widths[end] -= cut
		over -= cut
	}
	for ; over > 0; over-- {
		widest := 0
		for i, width := range widths[1:] {
			if widest == 0 && width > max(widths[0]/2, minCell) || widest > 0 && width > widths[widest] {
				widest = i + 1
			}
		}
		if widths[widest] <= minCell {
			return
		}
		widths[widest]--
	}
}

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
	d := max(0, time.Since(t)) // the clock of another machine may be ahead
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
