package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
)

func printComparison(w io.Writer, nameA, nameB string, a, b *tree) error {
	if err := table(w, comparedSums(nameA, nameB, sumsOf(a), sumsOf(b))); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := table(w, comparedPackages(a, b)); err != nil {
		return err
	}
	printOnly(w, nameA, differ(a, b))
	printOnly(w, nameB, differ(b, a))
	return nil
}

// printOnly prints the tests that one tree has and the other has not.
func printOnly(w io.Writer, name string, tests []string) {
	fmt.Fprintf(w, "\ntests that only %s has: %d\n", name, len(tests))
	for _, t := range tests {
		fmt.Fprintln(w, "  "+t)
	}
}

func comparedSums(nameA, nameB string, sa, sb sums) [][]any {
	return [][]any{
		{"", nameA, nameB},
		{"product lines", sa.productLines, sb.productLines},
		{"  neither blank nor comment", sa.codeLines, sb.codeLines},
		{"script lines", sa.scriptLines, sb.scriptLines},
		{"test lines", sa.testLines, sb.testLines},
		{"product packages", sa.packages, sb.packages},
		{"files of the largest package", sa.largest, sb.largest},
		{"", sa.largestPath, sb.largestPath},
		{"functions", sa.functions, sb.functions},
		{"median lines", sa.median, sb.median},
		{"p90 lines", sa.p90, sb.p90},
		{"maximum lines", sa.maximum, sb.maximum},
		{"", sa.maximumAt, sb.maximumAt},
		{"exported names", sa.exported.total(), sb.exported.total()},
		{"  types", sa.exported.types, sb.exported.types},
		{"  funcs", sa.exported.funcs, sb.exported.funcs},
		{"  methods", sa.exported.methods, sb.exported.methods},
		{"  fields", sa.exported.fields, sb.exported.fields},
		{"  consts", sa.exported.consts, sb.exported.consts},
		{"  vars", sa.exported.vars, sb.exported.vars},
		{"pairs of equal lines", sa.pairs, sb.pairs},
		{"tests", sa.tests, sb.tests},
	}
}

func comparedPackages(a, b *tree) [][]any {
	rows := [][]any{{"package", "files", "", "lines", "", "test lines", "", "exported", ""}}
	none := &pkg{}
	ra, rb := byPath(a), byPath(b)
	both := maps.Clone(ra)
	maps.Copy(both, rb)
	for _, p := range slices.Sorted(maps.Keys(both)) {
		x, y := cmp.Or(ra[p], none), cmp.Or(rb[p], none)
		rows = append(rows, []any{p, x.files, y.files, x.lines, y.lines, x.testLines, y.testLines, x.exported.total(), y.exported.total()})
	}
	return rows
}

func byPath(t *tree) map[string]*pkg {
	packages := map[string]*pkg{}
	for _, r := range t.packages {
		packages[r.path] = r
	}
	return packages
}

// differ lists the tests that a has and b has not, as "package test". A name
// that b has less often than a is listed for as many packages as b lacks it,
// first for those in which b has none of that name.
func differ(a, b *tree) (only []string) {
	left := map[string]int{}
	in := map[string]bool{}
	for _, r := range b.packages {
		for _, name := range r.tests {
			left[name]++
			in[r.path+" "+name] = true
		}
	}
	for _, same := range []bool{true, false} { // who stayed takes its own name first
		for _, r := range a.packages {
			for _, name := range r.tests {
				full := r.path + " " + name
				if in[full] != same {
					continue
				}
				if left[name]--; left[name] < 0 {
					only = append(only, full)
				}
			}
		}
	}
	slices.Sort(only)
	return only
}
