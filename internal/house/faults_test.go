package house

import (
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A place where a test may end a process is one that a test does end it at.
func TestFaultPlacesAreVisited(t *testing.T) {
	of := ourTree(t)
	if n := len(faultPlaces(of)); n < 80 {
		t.Errorf("only %d places found", n)
	}
	report(t, checkFaults(of))
}

// checkFaults finds the places in the code that no test with the build tag
// faults names, and packages with such tests that the Makefile does not run.
func checkFaults(t tree) (problems []string) {
	tests, err := faultTests(t)
	if err != nil {
		return []string{err.Error()}
	}
	makefile, _ := fs.ReadFile(t.files, "Makefile") // without one, nothing is run
	run := strings.Fields(faultsLine.FindString(string(makefile)))
	for _, dir := range slices.Sorted(maps.Keys(tests)) {
		if !slices.ContainsFunc(run, func(p string) bool {
			below, all := strings.CutSuffix(p, "/...")
			return "./"+dir == p || all && strings.HasPrefix("./"+dir+"/", below+"/")
		}) {
			problems = append(problems, fmt.Sprintf("Makefile: FAULTS lacks ./%s", dir))
		}
	}
	places := faultPlaces(t)
	for _, name := range slices.Sorted(maps.Keys(places)) {
		area, last, _ := strings.Cut(name, "/")
		if !slices.ContainsFunc(slices.Collect(maps.Values(tests)), func(source string) bool {
			return strings.Contains(source, strconv.Quote(name)) ||
				strings.Contains(source, strconv.Quote(area+"/")+"+") && strings.Contains(source, strconv.Quote(last))
		}) {
			problems = append(problems, fmt.Sprintf("%s: no test visits the place %s", places[name], name))
		}
	}
	return problems
}

var faultsLine = regexp.MustCompile(`(?m)^FAULTS\s*:=.*$`)

// faultTests returns the source of the tests with the build tag faults, by their
// folder.
func faultTests(t tree) (map[string]string, error) {
	tests := map[string]string{}
	err := fs.WalkDir(t.files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return t.skip(name)
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(t.files, name)
		if strings.HasPrefix(string(source), "//go:build faults") {
			tests[path.Dir(name)] += string(source)
		}
		return err
	})
	return tests, err
}

// faultPlaces returns the file of each place that the code names in full. A name
// that is put together is left to the tests of its package.
func faultPlaces(t tree) map[string]string {
	places := map[string]string{}
	for dir, p := range t.packages {
		for _, f := range p.files {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) != 1 {
					return true
				}
				literal, ok := call.Args[0].(*ast.BasicLit)
				if !ok || !isFault(call.Fun) {
					return true
				}
				if name, err := strconv.Unquote(literal.Value); err == nil {
					places[name] = path.Join(dir, f.name)
				}
				return true
			})
		}
	}
	return places
}

// isFault reports whether fun is fault.Here or fault.Error.
func isFault(fun ast.Expr) bool {
	s, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == "fault" && slices.Contains([]string{"Here", "Error"}, s.Sel.Name)
}
