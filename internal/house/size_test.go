package house

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

const (
	maxFunction   = 60   // lines between the braces of a body
	maxFiles      = 30   // of a package, tests aside
	packageBudget = 5000 // lines of a package, tests aside: more is told, and no error
)

// crowded are the packages that have too many files at present, and why.
var crowded = map[string]string{}

// tooLong are the functions that are too long at present, and why. Who changes
// one splits it, or says in its comment what it "is long because" of.
var tooLong = map[string]string{}

// No function is longer than a reader can hold, unless its comment says why it
// "is long because" of something. Tables and generated code do not count.
func TestFunctionLength(t *testing.T) {
	report(t, checkFunctions(ourTree(t), maxFunction, tooLong))
}

func checkFunctions(t tree, limit int, except map[string]string) (problems []string) {
	found := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(t.packages)) {
		for _, file := range t.packages[dir].files {
			if ast.IsGenerated(file.ast) {
				continue
			}
			for _, d := range file.ast.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Body == nil || givesReason(f) {
					continue
				}
				n := bodyLines(file, f)
				if n <= limit {
					continue
				}
				name := dir + " " + f.Name.Name
				found[name] = true
				if except[name] == "" {
					problems = append(problems, fmt.Sprintf("%s has %d lines, want %d at most: %s",
						f.Name.Name, n, limit, file.fset.Position(f.Pos())))
				}
			}
		}
	}
	return append(problems, needless(except, found)...)
}

// givesReason reports whether the comment of a function says why it is long.
func givesReason(f *ast.FuncDecl) bool {
	return strings.Contains(strings.Join(strings.Fields(f.Doc.Text()), " "), "is long because")
}

// bodyLines counts the lines between the braces of a function without its
// tables: slices and maps that hold no functions.
func bodyLines(file goFile, f *ast.FuncDecl) int {
	between := func(a, b ast.Node) int {
		return file.fset.Position(b.Pos()).Line - file.fset.Position(a.Pos()).Line
	}
	n := file.fset.Position(f.Body.Rbrace).Line - file.fset.Position(f.Body.Lbrace).Line - 1
	ast.Inspect(f.Body, func(node ast.Node) bool {
		literal, ok := node.(*ast.CompositeLit)
		if !ok || len(literal.Elts) == 0 {
			return true
		}
		switch literal.Type.(type) {
		case *ast.ArrayType, *ast.MapType:
			if holdsFunction(literal) {
				return true
			}
			n -= between(literal.Elts[0], literal.Elts[len(literal.Elts)-1])
			return false
		}
		return true
	})
	return n
}

func holdsFunction(literal ast.Node) (holds bool) {
	ast.Inspect(literal, func(node ast.Node) bool {
		_, is := node.(*ast.FuncLit)
		holds = holds || is
		return !holds
	})
	return holds
}

// needless names the exceptions that none of what was found needs.
func needless(except map[string]string, found map[string]bool) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(except)) {
		if !found[name] {
			problems = append(problems, fmt.Sprintf("%s keeps the rule: remove its exception (%s)", name, except[name]))
		}
	}
	return problems
}

// No package has more files than a reader can survey.
func TestFilesInAPackage(t *testing.T) {
	report(t, checkFiles(ourTree(t), maxFiles, crowded))
}

func checkFiles(t tree, limit int, except map[string]string) (problems []string) {
	found := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(t.packages)) {
		n := len(t.packages[dir].files)
		if n <= limit {
			continue
		}
		found[dir] = true
		if except[dir] == "" {
			problems = append(problems, fmt.Sprintf("%s has %d files, tests aside, want %d at most", dir, n, limit))
		}
	}
	return append(problems, needless(except, found)...)
}

// TestPackageBudget tells which packages are over the budget of lines. That is a
// number to look at, and no error.
func TestPackageBudget(t *testing.T) {
	for _, line := range overBudget(ourTree(t), packageBudget) {
		t.Log(line)
	}
}

func overBudget(t tree, budget int) (lines []string) {
	for _, dir := range slices.Sorted(maps.Keys(t.packages)) {
		if n := t.packages[dir].lines; n > budget {
			lines = append(lines, fmt.Sprintf("%s has %d lines, %d over the budget of a package", dir, n, n-budget))
		}
	}
	return lines
}
