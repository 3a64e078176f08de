package dashboard

import (
	"strings"

	"github.com/rivo/uniseg"

	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/attention"
)

// least is how many columns each cell keeps before one is left out, and most how
// many it gets.
var (
	least = [columns]int{colName: 14, colState: 16, colAge: 4, colWork: 8, colRuns: 6, colBranch: 10, colRepo: 6}
	most  = [columns]int{colName: 32, colState: 44, colAge: 4, colWork: 30, colRuns: 20, colBranch: 30, colRepo: 20}
)

// gap is between two cells, and mark before the first.
const (
	gap  = 2
	mark = 2
)

// widths is how wide the cells of a list would like to be, and at least.
type widths struct{ natural, least [columns]int }

// nameFirst is how much of a name is not cut before other cells are left out: sessions of
// one workspace differ at the end of it.
const nameFirst = 26

// widthsOf returns those of rows, within bounds. What a session needs of the user is not
// cut before other cells are left out, and neither is its name.
func widthsOf(rows []row) widths {
	w := widths{least: least}
	for _, r := range rows {
		for i, cell := range r.cells {
			w.natural[i] = max(w.natural[i], min(uniseg.StringWidth(cell), most[i]))
		}
		if r.group == attention.NeedsYou {
			w.least[colState] = max(w.least[colState], min(uniseg.StringWidth(r.cells[colState]), most[colState]))
		}
	}
	w.natural[colAge] = most[colAge]
	w.least[colName] = max(least[colName], min(w.natural[colName], nameFirst))
	return w
}

// fit makes the cells fit cols columns: the widest ones give way, and where all are
// at their least the last one is left out, whose width is 0 then.
func (w widths) fit(cols int) [columns]int {
	for last := columns - 1; last > colAge; last-- {
		if narrowed, ok := narrow(w.natural, w.least, cols); ok {
			return narrowed
		}
		w.natural[last] = 0
	}
	narrowed, ok := narrow(w.natural, w.least, cols)
	if !ok {
		narrowed, _ = narrow(w.natural, least, cols)
	}
	return narrowed
}

// narrow makes the widest cells narrower, down to least, until all fit, and reports
// whether they do.
func narrow(widths, least [columns]int, cols int) ([columns]int, bool) {
	over := mark - gap - cols
	for _, width := range widths {
		if width > 0 {
			over += width + gap
		}
	}
	for ; over > 0; over-- {
		widest, by := -1, 0
		for i, width := range widths {
			if width-least[i] > by {
				widest, by = i, width-least[i]
			}
		}
		if widest < 0 {
			return widths, false
		}
		widths[widest]--
	}
	return widths, true
}

// line formats a row.
func (r row) line(widths [columns]int, cols int, selected bool) string {
	var b strings.Builder
	b.WriteString("  ")
	cells := r.cells
	cells[colAge] = strings.Repeat(" ", max(0, widths[colAge]-len(cells[colAge]))) + cells[colAge]
	for i, cell := range cells {
		if widths[i] > 0 {
			b.WriteString(viewer.Pad(viewer.FitCell(cell, widths[i]), widths[i]+gap))
		}
	}
	text := strings.TrimRight(b.String(), " ")
	if r.found != "" {
		text = "  " + viewer.Pad(viewer.FitCell(r.cells[colName], widths[colName]), widths[colName]+gap) + r.found
	}
	return highlighted(text, cols, selected)
}

// rule is a line with text in it.
func rule(text string, cols int) string {
	text = viewer.Fit("── "+text+" ", cols)
	return "\x1b[2m" + text + strings.Repeat("─", max(0, cols-uniseg.StringWidth(text))) + "\x1b[m"
}

// between puts right at the end of a line that begins with left.
func between(left, right string, cols int) string {
	left = viewer.Fit(left, max(0, cols-uniseg.StringWidth(right)-1))
	return viewer.Fit(viewer.Pad(left, cols-uniseg.StringWidth(right))+right, cols)
}
