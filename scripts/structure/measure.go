package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// tree is what was measured of one revision.
type tree struct {
	packages  []*pkg // by path
	functions []function
	pairs     []pair
}

// pkg is one package.
type pkg struct {
	path      string
	kind      kind
	files     int // without tests
	lines     int // without tests
	code      int // of these neither blank nor a comment
	testLines int
	exported  names
	tests     []string // sorted
}

// kind is what a package is for.
type kind string

const (
	product kind = "product"
	script  kind = "script"
	helper  kind = "test" // helps tests of other packages
)

// names counts exported names by what they name.
type names struct {
	types, funcs, methods, fields, consts, vars int
}

func (n names) total() int {
	return n.types + n.funcs + n.methods + n.fields + n.consts + n.vars
}

func (n *names) add(m names) {
	n.types += m.types
	n.funcs += m.funcs
	n.methods += m.methods
	n.fields += m.fields
	n.consts += m.consts
	n.vars += m.vars
}

// function is a function or method with a body.
type function struct {
	place string // file:line
	name  string
	lines int // of the body, between its braces; at least 1
}

// source is one parsed file.
type source struct {
	name    string // path in the tree
	content []byte
	ast     *ast.File
	fset    *token.FileSet
}

// measure measures the tree in files.
func measure(files fs.FS) (*tree, error) {
	sources := map[string][]source{} // by package
	packages := map[string]*pkg{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipDir(name)
		}
		if !measured(name) {
			return nil
		}
		if isScriptTest(name) {
			r := packageOf(packages, testedBy(name))
			r.tests = append(r.tests, path.Base(name))
			return nil
		}
		if strings.Contains("/"+name, "/testdata/") {
			return nil
		}
		s, err := parse(files, name)
		if err != nil {
			return err
		}
		sources[path.Dir(name)] = append(sources[path.Dir(name)], s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := &tree{}
	var texts []text
	for dir, of := range sources {
		r := packageOf(packages, dir)
		r.kind = kindOf(dir, of)
		r.count(of)
		if r.kind != product {
			continue
		}
		for _, s := range of {
			if !isTest(s.name) {
				t.functions = append(t.functions, functions(s)...)
				texts = append(texts, textOf(s))
			}
		}
	}
	for _, r := range packages {
		slices.Sort(r.tests)
		t.packages = append(t.packages, r)
	}
	slices.SortFunc(t.packages, func(a, b *pkg) int { return strings.Compare(a.path, b.path) })
	slices.SortFunc(texts, func(a, b text) int { return strings.Compare(a.name, b.name) })
	t.pairs = pairs(texts)
	return t, nil
}

// skipDir leaves out the folders that the go command ignores, but for testdata,
// where the scripts are that the real binary runs.
func skipDir(name string) error {
	base := path.Base(name)
	if base == "node_modules" || base == "vendor" || name != "." && (base[0] == '.' || base[0] == '_') {
		return fs.SkipDir
	}
	return nil
}

// testedBy is the package whose tests run a script.
func testedBy(name string) string {
	dir, _, _ := strings.Cut(path.Dir(name), "/testdata")
	return dir
}

func packageOf(packages map[string]*pkg, dir string) *pkg {
	if packages[dir] == nil {
		packages[dir] = &pkg{path: dir, kind: kindOf(dir, nil)}
	}
	return packages[dir]
}

func parse(files fs.FS, name string) (source, error) {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return source{}, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, content, parser.SkipObjectResolution)
	if err != nil {
		return source{}, fmt.Errorf("parse: %w", err)
	}
	return source{name, content, file, fset}, nil
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

func kindOf(dir string, sources []source) kind {
	if top, _, _ := strings.Cut(dir, "/"); top == "scripts" || top == "tools" {
		return script
	}
	for _, s := range sources {
		for _, spec := range s.ast.Imports {
			if name, _ := strconv.Unquote(spec.Path.Value); name == "testing" && !isTest(s.name) {
				return helper
			}
		}
	}
	return product
}

// count counts the files, lines, exported names and tests of a package.
func (r *pkg) count(sources []source) {
	for _, s := range sources {
		lines := bytes.Count(s.content, []byte("\n"))
		if isTest(s.name) || r.kind == helper {
			r.tests = append(r.tests, testsOf(s)...)
		}
		if isTest(s.name) {
			r.testLines += lines
			continue
		}
		r.files++
		r.lines += lines
		r.code += codeLines(s.content)
		if r.kind == product && s.ast.Name.Name != "main" {
			r.exported.add(exported(s.ast))
		}
	}
}

// codeLines counts the lines that are neither blank nor a comment.
func codeLines(content []byte) (n int) {
	for l := range bytes.Lines(content) {
		if l = bytes.TrimSpace(l); len(l) > 0 && !bytes.HasPrefix(l, []byte("//")) {
			n++
		}
	}
	return n
}

// testsOf are the tests, benchmarks, fuzz targets and examples of a file. In a
// package that helps tests, functions named testX are the tests of its suite.
func testsOf(s source) (tests []string) {
	prefixes := []string{"Test", "Benchmark", "Fuzz", "Example"}
	if !isTest(s.name) {
		prefixes = []string{"test"}
	}
	for _, d := range s.ast.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		for _, prefix := range prefixes {
			rest, is := strings.CutPrefix(f.Name.Name, prefix)
			if is && (rest == "" || strings.ToUpper(rest[:1]) == rest[:1]) {
				tests = append(tests, f.Name.Name)
			}
		}
	}
	return tests
}

func functions(s source) (all []function) {
	for _, d := range s.ast.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = receiver(f) + "." + name
		}
		first, last := s.fset.Position(f.Body.Lbrace).Line, s.fset.Position(f.Body.Rbrace).Line
		place := fmt.Sprintf("%s:%d", s.name, s.fset.Position(f.Pos()).Line)
		all = append(all, function{place, name, max(1, last-first-1)})
	}
	return all
}

// receiver is the name of a method's type.
func receiver(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	for {
		switch e := t.(type) {
		case *ast.StarExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.IndexListExpr:
			t = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}
