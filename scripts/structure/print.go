package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// sums are the figures of a whole tree.
type sums struct {
	productLines, scriptLines, testLines int
	codeLines                            int // of the product, neither blank nor a comment
	packages, largest                    int
	largestPath                          string
	functions, median, p90, maximum      int
	maximumAt                            string
	exported                             names
	pairs, tests                         int
}

func sumsOf(t *tree) (s sums) {
	for _, r := range t.packages {
		s.testLines += r.testLines
		s.tests += len(r.tests)
		switch r.kind {
		case script:
			s.scriptLines += r.lines
		case helper:
			s.testLines += r.lines
		case product:
			s.productLines += r.lines
			s.codeLines += r.code
			if r.files > 0 {
				s.packages++
			}
			s.exported.add(r.exported)
		}
		if r.files > s.largest {
			s.largest, s.largestPath = r.files, r.path
		}
	}
	sorted := slices.SortedFunc(slices.Values(t.functions), func(a, b function) int {
		return cmp.Or(cmp.Compare(a.lines, b.lines), strings.Compare(a.place, b.place))
	})
	if s.functions = len(sorted); s.functions > 0 {
		longest := sorted[len(sorted)-1]
		s.median, s.p90, s.maximum = percentile(sorted, 50), percentile(sorted, 90), longest.lines
		s.maximumAt = longest.name + " " + longest.place
	}
	s.pairs = len(t.pairs)
	return s
}

// percentile is the smallest length that p percent of the functions, which are
// sorted by length, do not exceed.
func percentile(sorted []function, p int) int {
	return sorted[(len(sorted)*p+99)/100-1].lines
}

func table(w io.Writer, rows [][]any) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = fmt.Sprint(c)
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	return tw.Flush()
}

func printTree(w io.Writer, t *tree) error {
	s := sumsOf(t)
	rows := [][]any{{"package", "kind", "files", "lines", "code", "test lines", "exported"}}
	for _, r := range t.packages {
		rows = append(rows, []any{r.path, r.kind, r.files, r.lines, r.code, r.testLines, r.exported.total()})
	}
	rows = append(rows,
		[]any{"all", product, "", s.productLines, s.codeLines, "", s.exported.total()},
		[]any{"all", script, "", s.scriptLines},
		[]any{"all", helper, "", "", "", s.testLines})
	if err := table(w, rows); err != nil {
		return err
	}
	n := s.exported
	fmt.Fprintf(w, "\nfunctions %d: median %d lines, p90 %d, maximum %d (%s)\n", s.functions, s.median, s.p90, s.maximum, s.maximumAt)
	fmt.Fprintf(w, "exported names %d: %d types, %d funcs, %d methods, %d fields, %d consts, %d vars\n",
		n.total(), n.types, n.funcs, n.methods, n.fields, n.consts, n.vars)
	fmt.Fprintf(w, "tests %d\npairs of %d equal lines %d\n", s.tests, window, s.pairs)
	files, count := worst(t.pairs, 10)
	rows = nil
	for _, f := range files {
		rows = append(rows, []any{"  " + f, count[f]})
	}
	for _, p := range t.pairs[:min(10, len(t.pairs))] {
		rows = append(rows, []any{fmt.Sprintf("  %s:%d", p.a.file, p.a.line), fmt.Sprintf("%s:%d", p.b.file, p.b.line), fmt.Sprintf("%d lines", p.lines)})
	}
	return table(w, rows)
}

func printTests(w io.Writer, t *tree) error {
	for _, r := range t.packages {
		for _, name := range r.tests {
			if _, err := fmt.Fprintf(w, "%s %s\n", r.path, name); err != nil {
				return err
			}
		}
	}
	return nil
}
