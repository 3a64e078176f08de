package main

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"unicode"
)

const (
	window      = 6 // lines of a pair
	substantial = 3 // of these hold more than braces
)

// text is a file's lines without blank lines, comments and imports.
type text struct {
	name  string
	lines []line
}

type line struct {
	number int
	text   string // without the white space around it
}

// place is where a run of equal lines begins.
type place struct {
	file string
	line int
}

// pair is a run of at least six lines that is at two places.
type pair struct {
	a, b  place
	lines int
}

// textOf leaves of a file what pairs compares.
func textOf(s source) text {
	skip := map[int]bool{}
	drop := func(n ast.Node) {
		for l := s.fset.Position(n.Pos()).Line; l <= s.fset.Position(n.End()).Line; l++ {
			skip[l] = true
		}
	}
	for _, d := range s.ast.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
			drop(d)
		}
	}
	t := text{name: s.name}
	for i, raw := range bytes.Split(s.content, []byte("\n")) {
		l := strings.TrimSpace(string(raw))
		if l != "" && !skip[i+1] && !strings.HasPrefix(l, "//") {
			t.lines = append(t.lines, line{i + 1, l})
		}
	}
	return t
}

// pairs finds the runs of equal lines in files that are sorted by name.
func pairs(texts []text) (found []pair) {
	type at struct{ file, line int }
	windows := map[string][]at{}
	for f, t := range texts {
		for i := range len(t.lines) - window + 1 {
			if key, ok := windowKey(t.lines[i : i+window]); ok {
				windows[key] = append(windows[key], at{f, i})
			}
		}
	}
	for _, places := range windows {
		for i, a := range places {
			for _, b := range places[i+1:] {
				ta, tb := texts[a.file], texts[b.file]
				if a.file == b.file && b.line < a.line+window {
					continue // a run that overlaps itself
				}
				if begunBefore(ta.lines, tb.lines, a.line, b.line) {
					continue
				}
				n := equal(ta.lines[a.line:], tb.lines[b.line:])
				found = append(found, pair{
					place{ta.name, ta.lines[a.line].number}, place{tb.name, tb.lines[b.line].number}, n,
				})
			}
		}
	}
	slices.SortFunc(found, func(p, q pair) int {
		return cmp.Or(cmp.Compare(q.lines, p.lines),
			cmp.Compare(p.a.file, q.a.file), cmp.Compare(p.a.line, q.a.line),
			cmp.Compare(p.b.file, q.b.file), cmp.Compare(p.b.line, q.b.line))
	})
	return found
}

// windowKey is what two equal windows have in common; ok where enough of its
// lines hold more than braces.
func windowKey(lines []line) (key string, ok bool) {
	var b strings.Builder
	n := 0
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteByte('\n')
		if strings.ContainsFunc(l.text, unicode.IsLetter) {
			n++
		}
	}
	return b.String(), n >= substantial
}

// begunBefore reports whether the lines before i and j belong to the same run,
// which is then counted there.
func begunBefore(a, b []line, i, j int) bool {
	if i == 0 || j == 0 || a[i-1].text != b[j-1].text {
		return false
	}
	_, ok := windowKey(a[i-1 : i-1+window])
	return ok
}

// equal is the number of lines that two texts have in common from their start.
func equal(a, b []line) (n int) {
	for n < len(a) && n < len(b) && a[n].text == b[n].text {
		n++
	}
	return n
}

// worst are the files with the most pairs, at most n of them, and how many each
// is in.
func worst(all []pair, n int) (files []string, count map[string]int) {
	count = map[string]int{}
	for _, p := range all {
		count[p.a.file]++
		if p.b.file != p.a.file {
			count[p.b.file]++
		}
	}
	files = slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a, b))
	})
	return files[:min(n, len(files))], count
}
